import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import SMTPClient
import Testing

@testable import Mail

@Suite struct LaneTests {
  private func ending(
    _ failure: SMTPFailure, to recipient: String = "ada@privaterelay.appleid.com",
    registry: MetricsRegistry = MetricsRegistry()
  ) async throws -> Classification {
    let table = try Shipped.table()
    let lane = SMTPLane(
      name: "a", submitter: FakeSubmitter { _ in .failure(failure) }, writer: MailWriter(signer: try DKIMSigner()),
      table: table, metrics: SMTPMetrics(registry, lanes: ["a", "b"], table))
    let mail = OutgoingMail(
      to: try #require(MailAddress(recipient)), sender: try .example(), text: MailText(subject: "s", text: "t"))
    return await lane.send(mail, attempt())
  }

  private func word(_ classification: Classification) -> String {
    switch classification {
    case .accepted: "accepted"
    case .refused(let reason, let extras): "refused \(reason.code)\(extras["suppress"] == true ? " suppress" : "")"
    case .otherLane(let reason, _): "otherLane \(reason.code)"
    case .retry(let reason, let after): "retry \(reason.code)\(after.map { " \($0.components.seconds)" } ?? "")"
    case .unknown(let reason): "unknown \(reason.code)"
    case .laneDown(let reason): "laneDown \(reason.code)"
    case .notCalled(let reason, let why): "\(why) \(reason.code)"
    case .lost, .continued: "not of mail"
    }
  }

  /// The replies of reference: what Apple's relay and others were seen to say.
  @Test(
    arguments: [
      (.recipient, 550, "5.1.1", "<x@privaterelay.appleid.com>: user not found", "refused RECIPIENT_GONE suppress"),
      (.recipient, 550, "5.1.1", "inactive email address", "refused RECIPIENT_GONE suppress"),
      (.recipient, 550, "5.1.6", "recipient no longer on server", "refused RECIPIENT_GONE suppress"),
      (.recipient, 550, nil, "unknown or illegal alias", "refused RECIPIENT_GONE suppress"),
      (.final, 550, "5.2.1", "disabled", "refused RECIPIENT_GONE suppress"),
      (
        .recipient, 550, "5.2.1",
        "The user you are trying to contact is receiving\nmail at a rate that prevents additional messages from\nbeing delivered.",
        "retry SERVER_THROTTLED 600"
      ),
      (.recipient, 450, "4.2.1", "receiving mail too quickly", "retry SERVER_THROTTLED 600"),
      (.recipient, 550, "5.1.1", "rejected: too many recipients this hour", "retry SERVER_THROTTLED 120"),
      (.final, 551, "5.7.1", "Delivery not authorized", "otherLane SENDER_BLOCKED"),
      (.recipient, 552, "5.2.2", "user is over quota", "retry MAILBOX_FULL 3600"),
      (.recipient, 452, "4.2.2", "mailbox full", "retry MAILBOX_FULL 3600"),
      (.recipient, 421, "4.7.1", "deferred due to excessive volume", "retry SERVER_THROTTLED 120"),
      (.recipient, 451, "4.3.0", "try again in 300 seconds", "retry SERVER_BUSY 300"),
      (.greeting, 421, nil, "too many connections, retry after 5 minutes", "retry SERVER_THROTTLED 300"),
      (.final, 451, "4.3.0", "later", "retry SERVER_BUSY"),
      (
        .final, 554, "5.7.1", "[HME1] This message was blocked for failing both SPF and DKIM",
        "laneDown SENDER_NOT_AUTHENTICATED"
      ),
      (.final, 554, "5.7.1", "rejected by the DMARC policy of example.com", "laneDown SENDER_NOT_AUTHENTICATED"),
      (.final, 550, "5.7.1", "[CS01] Message rejected due to local policy", "laneDown SENDER_BLOCKED"),
      (.recipient, 550, "5.7.1", "blocked using zen.spamhaus.org", "laneDown SENDER_BLOCKED"),
      (.recipient, 554, "5.7.1", "<a@b>: Relay access denied", "laneDown RELAY_DENIED"),
      (.recipient, 450, "4.1.8", "sender domain not found", "laneDown SENDER_REFUSED"),
      (.sender, 550, "5.7.60", "no", "laneDown SENDER_REFUSED"),
      (.sender, 530, "5.7.0", "auth", "laneDown MAIL_CREDENTIALS"),
      (.authentication, 535, "5.7.8", "no", "laneDown MAIL_CREDENTIALS"),
      (.authentication, 454, "4.7.0", "later", "retry SERVER_BUSY"),
      (.sender, 552, "5.3.4", "too big", "refused MESSAGE_TOO_LARGE"),
      (.final, 552, "5.3.4", "too big", "refused MESSAGE_TOO_LARGE"),
      (.recipient, 553, "5.1.3", "bad", "refused INVALID_RECIPIENT"),
      (.final, 550, "5.7.1", "spam", "refused SERVER_REFUSED"),
      (.hello, 550, nil, "no", "laneDown SERVER_REFUSED"), (.data, 554, nil, "no", "refused SERVER_REFUSED"),
    ] as [(SMTPStage, Int, String?, String, String)])
  func `Replies of the server are classified`(
    stage: SMTPStage, code: Int, enhanced: String?, text: String, expected: String
  )
    async throws
  {
    let ending = try await ending(.refused(stage, code, enhanced, text))
    #expect(word(ending) == expected)
  }

  /// A server that the mail is submitted to may repeat what the recipient's own server says. Whoever runs that one cannot take the lane
  /// down for everybody; what is said before a recipient was named is the server's own.
  @Test(
    arguments: [
      (.recipient, "550 5.7.1 blocked using zen.spamhaus.org", "otherLane SENDER_BLOCKED"),
      (.final, "554 5.7.1 [HME1] failing both SPF and DKIM", "otherLane SENDER_NOT_AUTHENTICATED"),
      (.final, "550 5.7.515 required authentication level", "otherLane SENDER_NOT_AUTHENTICATED"),
      (.recipient, "530 5.7.0 Authentication required", "otherLane MAIL_CREDENTIALS"),
      (.recipient, "450 4.1.8 Domain not found", "retry SENDER_REFUSED"),
      (.recipient, "450 4.7.25 cannot find your hostname", "retry SENDER_NOT_AUTHENTICATED"),
      (.final, "451 4.7.1 no rDNS, try again in 300 seconds", "retry SENDER_NOT_AUTHENTICATED 300"),
      (.sender, "450 4.1.8 Domain not found", "laneDown SENDER_REFUSED"),
      (.sender, "550 5.7.1 blocked using zen.spamhaus.org", "laneDown SENDER_BLOCKED"),
      (.greeting, "554 5.7.1 blocked using zen.spamhaus.org", "laneDown SENDER_BLOCKED"),
    ] as [(SMTPStage, String, String)])
  func `A recipients server cannot take the lane down`(stage: SMTPStage, line: String, expected: String) async throws {
    let words = line.split(separator: " ", maxSplits: 2).map(String.init)
    let failure = SMTPFailure.refused(stage, try #require(Int(words[0])), words[1], words[2])
    for recipient in ["ada@example.org", "ada@gmail.com.example.org", "ada@notgmail.com"] {
      #expect(word(try await ending(failure, to: recipient)) == expected)
    }
    let known = try await ending(failure, to: "ada@GMAIL.com")
    #expect(word(known) == "laneDown " + expected.split(separator: " ")[1])
  }

  /// Servers that blame the sender without taking the lane down would otherwise be seen by nobody.
  @Test func `Replies that take no lane down are counted`() async throws {
    let registry = MetricsRegistry()
    let failure = SMTPFailure.refused(.recipient, 450, "4.7.25", "cannot find your hostname")
    for recipient in ["ada@example.org", "ada@example.com", "ada@gmail.com"] {
      _ = try await ending(failure, to: recipient, registry: registry)
    }
    _ = try await ending(.refused(.recipient, 550, "5.1.1", "no such user"), to: "ada@example.org", registry: registry)
    let lines = registry.render().split(separator: "\n").filter { $0.hasPrefix("countersign_mail_replies_downgraded") }
    #expect(
      lines.filter { !$0.hasSuffix(" 0") }
        == [#"countersign_mail_replies_downgraded_total{lane="a",reason="SENDER_NOT_AUTHENTICATED"} 2"#])
    // Each stands at 0 before its first event, which an alert sees then.
    #expect(
      lines.contains(#"countersign_mail_replies_downgraded_total{lane="b",reason="SENDER_NOT_AUTHENTICATED"} 0"#))
  }

  @Test(
    arguments: [
      (.resolve, .connect, "retry NOT_SUBMITTED"), (.connect, .connect, "retry NOT_SUBMITTED"),
      (.tls, .tls, "retry NOT_SUBMITTED"), (.untrusted, .tls, "laneDown TLS_NOT_TRUSTED"),
      (.noTLS, .startTLS, "laneDown TLS_NOT_OFFERED"),
      (.noAuthentication, .authentication, "laneDown MAIL_CREDENTIALS"),
      (.noSMTPUTF8, .hello, "otherLane SMTPUTF8_NOT_OFFERED"), (.lost, .recipient, "retry NOT_SUBMITTED"),
      (.lost, .content, "retry NOT_SUBMITTED"), (.timedOut, .content, "retry NOT_SUBMITTED"),
      (.lost, .final, "unknown NO_REPLY"), (.timedOut, .final, "unknown NO_REPLY"),
      (.canceled, .final, "unknown NO_REPLY"),
      (.closed, .connect, "retry NOT_SUBMITTED"),
    ] as [(SMTPFailure.Kind, SMTPStage, String)])
  func `Failures of the connection are classified`(kind: SMTPFailure.Kind, stage: SMTPStage, expected: String)
    async throws
  {
    #expect(word(try await ending(SMTPFailure(kind: kind, stage: stage))) == expected)
  }

  @Test(
    arguments: [
      (#"{rules: [{class: "accepted", reason: "A", detail: "d"}]}"#, "rules[0].class is not valid"),
      (
        #"{rules: [{stages: ["nowhere"], class: "refused", reason: "A", detail: "d"}], receivers: ["gmail.com"]}"#,
        "rules[0].stages must be of"
      ),
      (
        #"{rules: [{codes: ["5x"], class: "refused", reason: "A", detail: "d"}], receivers: ["gmail.com"]}"#,
        "rules[0].codes must be"
      ),
      (
        #"{rules: [{texts: ["Upper"], class: "refused", reason: "A", detail: "d"}], receivers: ["gmail.com"]}"#,
        "rules[0].texts must be"
      ),
      (
        #"{rules: [{text: ["lower"], class: "refused", reason: "A", detail: "d"}]}"#,
        "rules[0].text: unknown key (did you mean texts?)"
      ), (#"{rule: []}"#, "rule: unknown key (did you mean rules?)"),
      (#"{rules: [], receivers: ["gmail.com"]}"#, "rules is empty"),
      (#"{rules: [{class: "refused", reason: "A", detail: "d"}]}"#, "receivers is missing"),
      (#"{rules: [{class: "refused", reason: "A", detail: "d"}], receivers: []}"#, "receivers is empty"),
      (
        #"{rules: [{class: "refused", reason: "A", detail: "d"}], receivers: ["Gmail.com"]}"#,
        "receivers must be domains"
      ),
      ("{}", "rules is missing"),
    ])
  func `Tables that are wrong`(text: String, problem: String) throws {
    let path = temporaryPath("table")
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let error = #expect(throws: WorkerError.self) { try ReplyTable(file: path) }
    #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
  }
}
