import Synchronization

/// Numbers that tell every claim from every other one: a random start for the process, and a count.
final class ClaimTokens: Sendable {
  private let last: Atomic<Int64>

  init(startingAt first: Int64 = .random(in: .min ... .max)) {
    last = Atomic(first)
  }

  func next() -> Int64 {
    last.wrappingAdd(1, ordering: .relaxed).newValue
  }
}
