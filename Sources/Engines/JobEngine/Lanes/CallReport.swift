enum CallReport: Sendable, Hashable {
  /// The provider answered, positively or not: the lane works.
  case answered
  /// The call failed in a way that may be the lane's fault. Many in a row open the breaker.
  case failed(Reason)
  /// The lane fails for every job.
  case down(Reason)
  case unused

  init(_ classification: Classification) {
    switch classification {
    case .accepted, .refused, .otherLane, .lost, .continued: self = .answered
    case .retry(let reason, _), .unknown(let reason): self = .failed(reason)
    case .laneDown(let reason): self = .down(reason)
    case .notCalled: self = .unused
    }
  }
}
