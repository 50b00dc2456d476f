"""Building blocks of controllers: work queue, control loop, leader election, cache interface, events and counters."""
