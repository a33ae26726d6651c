import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum RevokeCommand {
  struct Options: CommandOptions {
    let app: String?
    let code, refreshToken, accessToken: String?
    let clientID, redirectURI: String?
    let notify, language, template: String?
    let noWait: Bool

    init(_ reader: OptionReader) {
      app = reader.text("app", "APP", "Bundle ID of the app: com.example.app unless given.")
      code = reader.text("code", "CODE", "Authorization code: valid once, for five minutes.")
      refreshToken = reader.text("refresh-token", "TOKEN", "Refresh token.")
      accessToken = reader.text("access-token", "TOKEN", "Access token.")
      clientID = reader.text("client-id", "ID", "Services ID, if Apple issued the token to one and not to the app.")
      redirectURI = reader.text("redirect-uri", "URI", "Redirect URI of the authorization request, if it had one.")
      notify = reader.text("notify", "ADDRESS", "Recipient of a mail once it is done.")
      language = reader.text("language", "CODE", "Language of the mail, BCP 47: pt-BR.")
      template = reader.text("template", "NAME", "Template of the mail.")
      noWait = reader.flag("no-wait", "Do not wait for the outcome.")
    }
  }

  static let entry = CommandEntry(
    "revoke", "Revokes a token of Sign in with Apple, and notifies its owner by mail.",
    discussion: """
      Give one of --code, --refresh-token and --access-token; - is standard input, which no process list shows.
      The same token twice is one operation.
      """, options: Options.self
  ) { options, context in
    let backend = try context.backend()
    let command = StartRevocation(
      app: options.app ?? "com.example.app", clientID: options.clientID, token: try token(options, context),
      redirectURI: options.redirectURI, notify: try notice(options))
    let reply = try await backend.send(command, timeout: context.timeout)
    guard !options.noWait else { return CommandOutput(text: text(reply), reply: reply) }
    let status = try await OperationWatch(backend: backend).wait(
      for: reply.operationID, within: context.timeout, timeout: context.timeout
    ) { $0.state != .running }
    return CommandOutput(
      text: "\(text(reply))\n\n\(OperationText.text(status))",
      json: JSONValue(encoding: reply).adding("status", JSONValue(encoding: status)),
      exitCode: status.failure == nil ? .success : .failure)
  }

  private static func token(_ options: Options, _ context: CommandContext) throws -> AppleToken {
    let kinds: [(value: String?, kind: AppleToken.Kind)] = [
      (options.code, .authorizationCode), (options.refreshToken, .refreshToken), (options.accessToken, .accessToken),
    ]
    let given = kinds.compactMap { option in option.value.map { ($0, option.kind) } }
    guard given.count == 1, let (value, kind) = given.first else {
      throw UsageError("give one of --code, --refresh-token and --access-token")
    }
    let text =
      value == "-" ? String(decoding: try context.input(), as: UTF8.self).filter { !$0.isWhitespace } : value
    return AppleToken(kind, SecretField(Secret(text)))
  }

  private static func notice(_ options: Options) throws(UsageError) -> StartRevocation.Notice? {
    guard let address = options.notify else {
      guard options.language == nil, options.template == nil else {
        throw UsageError("--language and --template are about the mail: give --notify ADDRESS too")
      }
      return nil
    }
    return StartRevocation.Notice(email: address, languageCode: options.language, template: options.template)
  }

  private static func text(_ reply: OperationStarted) -> String {
    "operation ID  \(reply.operationID)"
      + (reply.repeated ? "\nthe token was submitted before: this is the earlier operation" : "")
  }
}
