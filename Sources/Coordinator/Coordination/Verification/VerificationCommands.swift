import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `verification.start`: starts a verification, or continues the live one of its number.
struct StartCommand: CommandOrder {
  let order: StartOrder
  let envelope: Envelope
  let service: VerificationService

  var fingerprint: [UInt8] { order.fingerprint }

  func formerFingerprints() -> [[UInt8]] { service.codes.formerFingerprints(of: order) }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.addKeys(of: order, envelope, to: &keys, at: now)
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try service.addMoreKeys(of: order, envelope, to: &keys, from: set)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.startProven(order, envelope, in: &set)
  }

  func arriveAgain(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> Bool {
    try service.gate.arriveAgain(order, envelope, in: &set)
  }
}

/// `verification.check`: compares a code.
struct CheckCommand: CommandOrder {
  private let order: CheckOrder
  private let service: VerificationService
  let fingerprint: [UInt8]

  init(_ order: CheckOrder, _ service: VerificationService) {
    self.order = order
    self.service = service
    fingerprint = service.codes.fingerprint(of: order)
  }

  func formerFingerprints() -> [[UInt8]] { service.codes.formerFingerprints(of: order) }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.records.addKeys(ofID: order.verificationID, to: &keys)
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try service.addMoreKeys(of: order, to: &keys, from: set)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.check(order, envelope, in: &set)
  }
}

/// `verification.cancel`: ends a handle, and with the last one its verification.
struct CancelCommand: CommandOrder {
  let verificationID: String
  let service: VerificationService

  var fingerprint: [UInt8] { CommandFingerprint.hash(CancelVerification.type.text, [verificationID]) }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.records.addKeys(ofID: verificationID, to: &keys)
  }

  func addMoreKeys(to keys: inout StoreKeys, from set: WorkingSet) throws(StoreError) {
    try service.addMoreKeys(ofID: verificationID, to: &keys, from: set)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.cancel(verificationID, envelope, in: &set)
  }
}

/// `verification.status`: shows a verification to the holder of a handle.
struct StatusCommand: CommandOrder {
  let verificationID: String
  let service: VerificationService

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try service.records.addKeys(ofID: verificationID, to: &keys)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    try service.status(verificationID, in: set)
  }
}
