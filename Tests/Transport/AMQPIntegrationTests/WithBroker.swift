import Testing

/// All suites of this target: they restart, block and kill the one broker, so they run one after the other.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct WithBroker {}
