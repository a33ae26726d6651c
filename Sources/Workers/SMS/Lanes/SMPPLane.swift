import CountersignMessages
import CountersignTelemetry
public import JobEngine
import SMPP
import Synchronization

/// Sends through an SMPP server, on one session as transceiver.
///
/// SMPP has no key that would make a second submission harmless, so one without a clear answer is `unknown` and nothing here
/// repeats it. The segments of a longer message go one after the other: as long as none was taken, another lane may take over;
/// once one was, the message may not go again as a whole.
public struct SMPPLane: SMSLane {
  public let name: String
  private let configuration: SMPPLaneConfiguration
  private let classifier: SMPPClassifier
  private let session: any SMPPSubmitting
  private let references = SegmentReferences()

  /// - Parameter table: What the server's statuses mean.
  init(
    name: String, configuration: SMPPLaneConfiguration, table: ProviderTable, session: any SMPPSubmitting
  ) {
    self.name = name
    self.configuration = configuration
    self.classifier = SMPPClassifier(table: table)
    self.session = session
  }

  public func send(_ message: OutgoingSMS, _ attempt: JobAttempt) async -> Classification {
    let validity = attempt.deadline - attempt.startedAt
    guard validity >= .seconds(1) else { return .notCalled(Self.tooLate, .tooLate) }
    let segments = configuration.segments(of: message, validity: validity, reference: references.next())
    let end = ContinuousClock.Instant.now + attempt.timeout
    let origin = MessageOrigin(id: attempt.identity.key, correlationID: attempt.correlationID)
    var reference: String?
    for (taken, segment) in segments.enumerated() {
      let left = ContinuousClock.Instant.now.duration(to: end)
      do throws(SMPPError) {
        // After the first one it is better to wait for a busy server than to leave a message that cannot be read.
        reference = try await session.submit(segment, timeout: left, isPatient: taken > 0, origin: origin)
      } catch {
        return classifier.classification(error, taken: taken, of: segments.count)
      }
    }
    return .accepted(reference: reference, extras: configuration.extras(of: message))
  }

  public func probe() async -> ProbeResult {
    switch session.status {
    case .bound: .up
    case .connecting, .stopped: .down(Reason("NOT_CONNECTED", "There is no session with the server."))
    case .waiting(let error): .down(classifier.reason(error))
    }
  }

  private static let tooLate = Reason(
    "DEADLINE_TOO_NEAR", "Too little of the deadline is left for a network to deliver.")
}

/// Numbers longer messages, so that a phone tells their segments apart.
final class SegmentReferences: Sendable {
  private let last = Atomic<UInt8>(.random(in: 0 ... .max))

  /// The next of 256.
  func next() -> UInt8 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
