"""Building blocks of controllers: work queue, control loop, leader election, cache, events, conditions."""
