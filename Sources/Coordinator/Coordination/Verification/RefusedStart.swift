import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// A start that is refused because its number is not a fictional one: with fictional numbers it would pass.
///
/// It counts for the address of its client, and for nothing else. After too many refusals, a client no longer learns
/// which numbers are fictional. One that was answered before its number or app changed gets that answer again.
struct RefusedStart: CommandOrder {
  let error: APIError
  /// Absent where the service states none: nothing is counted then.
  let address: ClientAddress?
  let identity: StartIdentity
  let service: VerificationService

  var fingerprint: [UInt8] { service.codes.fingerprint(of: identity) }

  func formerFingerprints() -> [[UInt8]] { service.codes.formerFingerprints(of: identity) }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    try service.gate.arriveAgain(envelope, in: &set)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal = try service.limits.admitRefusedStart(from: address, in: &set) {
      service.metrics.count(refusal, in: &set)
      return CommandAnswer(APIError(refusal))
    }
    var answer = CommandAnswer(error)
    // A count is nothing to record an answer for: a row for each would let anybody fill the disk.
    answer.isTransient = true
    return answer
  }
}

extension RateLimits {
  func refusedStarts(from address: ClientAddress?) throws(StoreError) -> [Check] {
    try checks(.refusedStartsPerAddressPerHour, from: address)
  }

  func admitRefusedStart(from address: ClientAddress?, in set: inout WorkingSet) throws(StoreError) -> LimitRefusal? {
    admit(try refusedStarts(from: address), in: &set)
  }
}
