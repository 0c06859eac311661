"""The polling loop: what is due, one poll with its outcome, the threads of a job, tables that come and go."""
