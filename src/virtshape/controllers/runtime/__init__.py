"""What every controller uses: work queue, control loop, leader election, cache, events, conditions."""
