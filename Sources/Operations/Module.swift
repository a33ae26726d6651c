/// What an operator does: topology, dead letters, keys, diagnosis.
