import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// `number.forget`: erases the coordinator's data about a number. An operators' command.
struct ForgetNumberCommand: CommandOrder {
  /// E.164.
  let number: String
  let envelope: Envelope
  let eraser: NumberEraser
  /// Counts of what was erased before the transaction.
  var forgotten: NumberForgotten?

  var fingerprint: [UInt8] { CommandFingerprint.hash(ForgetNumber.type.text, []) }

  /// There may be more than fits into one transaction.
  var stage: CommandStage? {
    CommandStage { access throws(StoreError) in
      var order = self
      order.forgotten = try await eraser.begin(number, envelope, access)
      return order
    }
  }

  func addKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try eraser.addKeys(ofNumber: number, to: &keys)
  }

  /// - Returns: an answer that is not recorded: it has nothing to repeat, and neither the number nor its hash may be
  ///   kept.
  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    guard var forgotten else { throw StoreError(.misuse, "a number is forgotten without the stage before") }
    try eraser.finish(number, envelope, &forgotten, in: &set)
    var answer = try CommandAnswer(forgotten)
    answer.isTransient = true
    return answer
  }
}
