import JobEngine
import Synchronization

@testable import SMS

final class FakeLane: ProviderLane {
  let name: String
  let deduplicates: Bool
  private let answer: Classification
  private let found: Classification?
  private let received = Mutex<[OutgoingSMS]>([])

  init(
    _ name: String, deduplicates: Bool = false, answer: Classification = .accepted(reference: "r"),
    found: Classification? = nil
  ) {
    self.name = name
    self.deduplicates = deduplicates
    self.answer = answer
    self.found = found
  }

  var sent: [OutgoingSMS] { received.withLock { $0 } }

  func send(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification {
    received.withLock { $0.append(message) }
    return answer
  }

  func lookUp(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification? { found }
}
