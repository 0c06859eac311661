"""Small tools below every layer: durable files, hook points, waits, wording, plug-ins."""
