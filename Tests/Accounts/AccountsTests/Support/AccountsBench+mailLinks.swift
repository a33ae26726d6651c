import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  static let otherAddress = "eve@example.com"
  static let authDomain = "example.firebaseapp.com"

  /// The project with links, as a test changes it.
  func useLinks(_ change: (inout Project) -> Void = { _ in }) {
    usePasswords { project in
      project.authDomain = Self.authDomain
      project.authorizedDomains = ["app.example.com", "localhost"]
      project.apiKeys = ["fake-api-key"]
      change(&project)
    }
  }

  /// A mail as the mail-worker gets it, opened.
  struct Mail {
    let id: String
    let job: MailRelayJob
    let link: String
    let template: String
    let languageCode: String?
    let appName: String?
    let secondFactor: String?

    /// The first of a name counts.
    func value(_ name: String) -> String? {
      let query = link.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
      return query.split(separator: "&").first { $0.hasPrefix("\(name)=") }
        .map { String($0.dropFirst(name.count + 1)) }
    }

    var code: String? { value("oobCode") }
    var mode: String? { value("mode") }
  }

  /// Mails of the last command.
  func mails() throws -> [Mail] {
    try sink.published.filter { $0.exchange == Topology.Exchanges.jobs && $0.routingKey == MailRelayJob.type.name }
      .map { try mail(MailRelayJob(json: $0.message.body), id: #require($0.message.messageID)) }
  }

  func mail(_ job: MailRelayJob, id: String) throws -> Mail {
    guard case .template(let name, let language, let variables) = job.content else {
      throw StoreError(.content, "a mail without a template")
    }
    let context = SealContext(messageType: MailRelayJob.type, messageID: id, recipient: job.to)
    let link = try #require(variables.link)
    return Mail(
      id: id, job: job, link: try link.open(with: secrets.secrets.keys, for: context).reveal(),
      template: name, languageCode: language, appName: variables.appName, secondFactor: variables.secondFactor)
  }

  struct Sent {
    var email: String?
    var link: MailLink?
    var error: APIError?
    var mails: [Mail] = []

    var code: String? { mails.first?.code }
  }

  func sendLink(
    _ purpose: MailLinkPurpose, to email: String? = nil, newEmail: String? = nil, idToken: Secret? = nil,
    id: String? = nil, ip: String? = nil, _ change: (inout SendMailLink) throws -> Void = { _ in }
  ) async throws -> Sent {
    let id = id ?? nextID()
    let addresses = try MailLinkAddresses(email: email, newEmail: newEmail).text()
    var command = SendMailLink(
      project: Self.project, purpose: purpose, addresses: try sealBound(addresses, SendMailLink.self, id),
      replyKey: replyKey.publicKey.jwk)
    command.idToken = try idToken.map { try sealBound($0, SendMailLink.self, id) }
    command.client = ip.map { StartVerification.Client(ip: $0) }
    try change(&command)
    let reply = try await ask(command, id: id)
    guard reply.type != ErrorReply.type.text else { return Sent(error: try ErrorReply(json: reply.body).error) }
    let body = try MailLinkSent(json: reply.body)
    let link = try body.link.map { try MailLink(text: opened($0, MailLinkSent.type, id: id)) }
    return Sent(email: body.email, link: link, mails: try mails())
  }

  struct Applied {
    var reply: MailLinkApplied?
    var error: APIErrorCode?
    var mails: [Mail] = []
  }

  func apply(
    _ code: String?, newPassword: String? = nil, isLook: Bool? = nil, _ change: (inout ApplyMailLink) -> Void = { _ in }
  ) async throws -> Applied {
    let id = nextID()
    var command = ApplyMailLink(
      project: Self.project, code: try seal(Secret(try #require(code)), ApplyMailLink.self, id))
    command.newPassword = try newPassword.map { try seal(Secret($0), ApplyMailLink.self, id) }
    command.isLook = isLook
    change(&command)
    let reply = try await ask(command, id: id)
    guard reply.type != ErrorReply.type.text else {
      return Applied(error: try ErrorReply(json: reply.body).error.code)
    }
    return Applied(reply: try MailLinkApplied(json: reply.body), mails: try mails())
  }

  func signIn(
    link code: String?, email: String? = address, idToken: Secret? = nil, id: String? = nil,
    _ change: (inout SignInWithMailLink) -> Void = { _ in }
  ) async throws -> Answer {
    let id = id ?? nextID()
    let credential = try MailLinkCredential(email: email, code: code).text()
    var command = SignInWithMailLink(
      project: Self.project, credential: try sealBound(credential, SignInWithMailLink.self, id),
      replyKey: replyKey.publicKey.jwk)
    command.idToken = try idToken.map { try sealBound($0, SignInWithMailLink.self, id) }
    change(&command)
    return try answer(try await ask(command, id: id), id)
  }

  /// Signs in by a link that is mailed for it.
  func signInByLink(_ email: String = address, idToken: Secret? = nil) async throws -> Answer {
    let code = try await sendLink(.signIn, to: email).code
    return try await signIn(link: code, email: email, idToken: idToken)
  }
}
