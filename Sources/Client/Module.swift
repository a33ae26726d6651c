/// What a Swift service imports to send commands and enqueue jobs.
