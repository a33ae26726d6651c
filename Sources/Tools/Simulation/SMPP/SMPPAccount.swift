import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import Synchronization

final class SMPPAccount: Sendable {
  /// The oldest are forgotten.
  private static let maxIncomplete = 1_000

  private struct Key: Hashable, Sendable {
    let source: SMPPSubmission.Address
    let destination: SMPPSubmission.Address
    let reference: UInt8
    let total: UInt8
  }

  private struct State {
    var incomplete = RecentMap<Key, [UInt8: [UInt8]]>(capacity: maxIncomplete)
    /// Current second, and the number of submissions accepted in it.
    var second: Int64 = 0
    var taken = 0
  }

  let settings: SMPPServerSettings
  let gate: ProviderGate
  private let state = Mutex(State())

  init(_ settings: SMPPServerSettings, gate: ProviderGate) {
    self.settings = settings
    self.gate = gate
  }

  func admit(_ body: [UInt8]) -> UInt32 {
    var fields = SMPPFields(body)
    guard let systemID = fields.text(16), let password = fields.text(9), let systemType = fields.text(13),
      let version = fields.byte(), fields.bytes(2) != nil, fields.text(41) != nil, fields.isAtEnd
    else { return SMPPStatusCode.invalidCommandLength }
    guard systemID == settings.systemID else { return SMPPStatusCode.invalidSystemID }
    guard settings.password.matches(password) else {
      return SMPPStatusCode.invalidPassword
    }
    guard systemType == settings.systemType else { return SMPPStatusCode.invalidSystemType }
    return version == 0x34 ? SMPPStatusCode.ok : SMPPStatusCode.bindFailed
  }

  func take(_ submission: SMPPSubmission) throws(SMPPRefusal) -> ReceivedMessage {
    let now = gate.clock.now()
    guard isWithinRate(now) else { throw refusal(SMPPStatusCode.throttled) }
    let octets = join(submission)
    let whole = octets ?? submission.octets
    // The border of a segment may cut an escape or a surrogate pair, so the whole text is checked.
    guard let text = submission.dataCoding == 0 ? GSMText.decode(whole) : Self.ucs2(whole) else {
      guard octets == nil else { throw refusal(SMPPStatusCode.invalidDataCoding) }
      return message(submission, "", now)
    }
    let message = message(submission, text, now)
    if octets != nil { gate.store.record(message) }
    return message
  }

  func refusal(_ status: UInt32) -> SMPPRefusal {
    gate.store.refuse("smpp \(SMPPStatusCode.text(status))")
    return SMPPRefusal(status: status)
  }

  private func message(_ submission: SMPPSubmission, _ text: String, _ now: UnixTime) -> ReceivedMessage {
    ReceivedMessage(
      to: submission.recipient, from: submission.source.text, body: text, receivedAt: now, provider: .smpp,
      id: Hexadecimal.encode(SecureRandom.bytes(8)))
  }

  private func isWithinRate(_ now: UnixTime) -> Bool {
    guard let rate = settings.ratePerSecond else { return true }
    return state.withLock { state in
      if state.second != now.seconds { (state.second, state.taken) = (now.seconds, 0) }
      state.taken += 1
      return state.taken <= rate
    }
  }

  /// `nil` until its segments are complete.
  private func join(_ submission: SMPPSubmission) -> [UInt8]? {
    guard let part = submission.part else { return submission.octets }
    let key = Key(
      source: submission.source, destination: submission.destination, reference: part.reference, total: part.total)
    return state.withLock { state in
      var parts = state.incomplete[key] ?? [:]
      parts[part.number] = submission.octets
      guard parts.count == Int(part.total) else {
        state.incomplete[key] = parts
        return nil
      }
      state.incomplete[key] = nil
      return (1...part.total).flatMap { parts[$0] ?? [] }
    }
  }

  /// `nil` for octets that are not UTF-16, which phones read UCS-2 as.
  private static func ucs2(_ octets: [UInt8]) -> String? {
    guard octets.count.isMultiple(of: 2) else { return nil }
    let units = stride(from: 0, to: octets.count, by: 2).map { UInt16(octets[$0]) << 8 | UInt16(octets[$0 + 1]) }
    return String(validating: units, as: UTF16.self)
  }
}
