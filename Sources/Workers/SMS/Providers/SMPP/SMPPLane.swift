import CountersignMessages
import CountersignTelemetry
import JobEngine
import SMPP
import Synchronization

/// SMPP has no idempotency key, so a submission without a clear answer is `unknown` and is not repeated here. The
/// segments of a longer message are submitted one after the other: until the first was taken, another lane may take
/// over; afterwards the message must not be sent again as a whole.
struct SMPPLane: ProviderLane {
  let name: String
  private let configuration: SMPPLaneConfiguration
  private let classifier: SMPPClassifier
  private let session: any SMPPSubmitting
  private let references = SegmentReferences()

  init(
    name: String, configuration: SMPPLaneConfiguration, table: ProviderTable, session: any SMPPSubmitting
  ) {
    self.name = name
    self.configuration = configuration
    self.classifier = SMPPClassifier(table: table)
    self.session = session
  }

  func send(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification {
    let validity = attempt.deadline - attempt.startedAt
    guard validity >= .seconds(1) else { return .notCalled(Self.tooLate, .tooLate) }
    let segments = configuration.segments(of: message, validity: validity, reference: references.next())
    let end = ContinuousClock.Instant.now + attempt.timeout
    let origin = MessageOrigin(id: attempt.job.key, correlationID: attempt.correlationID)
    var reference: String?
    for (taken, segment) in segments.enumerated() {
      let left = ContinuousClock.Instant.now.duration(to: end)
      do throws(SMPPError) {
        // After the first segment, waiting for a busy server is better than leaving a message that cannot be read.
        reference = try await session.submit(segment, timeout: left, isPatient: taken > 0, origin: origin)
      } catch {
        return classifier.classification(error, taken: taken, of: segments.count)
      }
    }
    return .accepted(reference: reference, extras: configuration.extras(of: message))
  }

  func probe() async -> ProbeResult {
    switch session.status {
    case .bound: .up
    case .connecting, .stopped: .down(Reason("NOT_CONNECTED", "There is no session with the server."))
    case .waiting(let error): .down(classifier.reason(error))
    }
  }

  private static let tooLate = Reason(
    "DEADLINE_TOO_NEAR", "Too little of the deadline is left for a network to deliver.")
}

/// Numbers longer messages, by which a phone groups their segments.
final class SegmentReferences: Sendable {
  private let last = Atomic<UInt8>(.random(in: 0 ... .max))

  func next() -> UInt8 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

protocol SMPPSubmitting: Sendable {
  var status: SMPPStatus { get }

  func submit(
    _ message: ShortMessage, timeout: Duration, isPatient: Bool, origin: MessageOrigin?
  ) async throws(SMPPError) -> String?
}

extension SMPPSession: SMPPSubmitting {}
