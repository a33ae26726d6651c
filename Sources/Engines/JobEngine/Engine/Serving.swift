enum Serving: Sendable, Hashable {
  case all
  /// A failed part is tried again with single jobs, so that a failure delays that job and no other.
  case oneByOne(Reason)
  /// No jobs can be served.
  case none(Reason)
}
