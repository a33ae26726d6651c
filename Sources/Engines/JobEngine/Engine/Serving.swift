/// Service that a worker can give to jobs at a time.
enum Serving: Sendable, Hashable {
  /// All are served.
  case all
  /// The failed part is tried again with a job: one at a time, so that a failure costs that one a delay and no other.
  case oneByOne(Reason)
  /// None can be served.
  case none(Reason)
}
