import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import SMTPClient
import Synchronization
import TestSupport
import Testing

@testable import Mail

enum Shipped {
  static let config = Repository.config

  static func templates() throws -> MailTemplates {
    try MailTemplates(directory: config + "/templates/mail", defaultLanguage: "en")
  }

  static func table() throws -> ReplyTable { try ReplyTable(file: config + "/providers/smtp.json5") }
}

extension Sender {
  static func example(from: String = "hello@example.com", envelope: String? = nil, signer: DKIMSigner? = nil) throws
    -> Sender
  {
    let address = try #require(MailAddress(from))
    let signer = try signer ?? DKIMSigner()
    return Sender(
      from: address, name: "Example", envelope: envelope.flatMap(MailAddress.init),
      keys: [try DKIMKey(domain: address.domain, selector: "ed", pem: SampleKeys.ed25519, signer: signer)])
  }
}

final class FakeSubmitter: MailSubmitter {
  private let answer: @Sendable (Int) -> Result<SMTPReply, SMTPFailure>
  private let log = Mutex<[SMTPMessage]>([])

  var messages: [SMTPMessage] { log.withLock { $0 } }

  init(_ answer: @escaping @Sendable (Int) -> Result<SMTPReply, SMTPFailure> = { _ in .success(.queued) }) {
    self.answer = answer
  }

  func send(_ message: SMTPMessage, timeout: Duration) async throws(SMTPFailure) -> SMTPReply {
    let count = log.withLock { log in
      log.append(message)
      return log.count
    }
    return try answer(count).get()
  }

  func check(timeout: Duration) async throws(SMTPFailure) { _ = try answer(0).get() }

  func shutdown() {}
}

extension SMTPReply {
  static let queued = SMTPReply(code: 250, enhancedCode: "2.0.0", text: "Ok: queued as 4Tk1")
}

extension SMTPFailure {
  static func refused(_ stage: SMTPStage, _ code: Int, _ enhanced: String?, _ text: String = "") -> SMTPFailure {
    SMTPFailure(kind: .refused, stage: stage, reply: SMTPReply(code: code, enhancedCode: enhanced, text: text))
  }
}

let time = UnixTime(seconds: 1_782_907_200)

func attempt(_ jobID: String = "job-1") -> JobAttempt {
  JobAttempt(
    job: MessageIdentity(sender: SenderRule.unnamed, messageID: jobID), deadline: time + .seconds(600),
    timeout: .seconds(240), startedAt: time)
}

func temporaryPath(_ name: String) -> String {
  FileManager.default.temporaryDirectory.path + "/\(name)-\(UInt64.random(in: 0 ... .max))"
}
