/// The message contract: envelope, commands, jobs, results, events, names of the topology.
