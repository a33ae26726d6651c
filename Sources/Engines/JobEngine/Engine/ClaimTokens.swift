import Synchronization

/// Numbers that are unique to each claim: a random start for the process, and a count.
final class ClaimTokens: Sendable {
  private let last: Atomic<Int64>

  init(startingAt first: Int64 = .random(in: .min ... .max)) {
    last = Atomic(first)
  }

  func next() -> Int64 {
    last.wrappingAdd(1, ordering: .relaxed).newValue
  }
}
