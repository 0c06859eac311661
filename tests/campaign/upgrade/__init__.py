"""A project that an older version of qbcd prepared and polled, taken over by this one."""
