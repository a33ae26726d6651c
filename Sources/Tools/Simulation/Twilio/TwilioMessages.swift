import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import Glibc
import HTTPServer

/// Twilio's Messages API: `POST /2010-04-01/Accounts/{sid}/Messages.json`
/// (https://www.twilio.com/docs/messaging/api/message-resource), as strict as Twilio's own.
struct TwilioMessages: Sendable {
  private let accountSID: String
  /// Credentials of the account, and of its API key.
  private let authorizations: [[UInt8]]
  private let inbox: ProviderInbox
  private let authToken: Secret
  private let receipts: ReceiptReporter
  private let callbacks: CallbackURL

  init(_ settings: SimulatorSettings, inbox: ProviderInbox, receipts: ReceiptReporter) {
    self.receipts = receipts
    authToken = settings.authToken
    accountSID = settings.accountSID
    callbacks = CallbackURL(allowsLocal: settings.allowsLocalCallbacks)
    authorizations = [
      (settings.accountSID, settings.authToken), (settings.apiKeySID, settings.apiKeySecret),
    ].map { name, secret in
      Array("Basic \(Base64.encode(Array("\(name):\(secret.reveal())".utf8)))".utf8)
    }
    self.inbox = inbox
  }

  func reply(_ request: HTTPServerRequest, _ parts: [Substring]) async -> HTTPServerReply {
    do throws(TwilioError) {
      try check(request, parts)
      let form = TwilioForm(request.body)
      return await inbox.answer(.twilio, to: form["To"] ?? "") {
        TwilioError.status($0).response
      } process: {
        create(form)
      }
    } catch {
      inbox.refuse(String(error.code))
      return inbox.count(error.response, .twilio)
    }
  }

  private func check(_ request: HTTPServerRequest, _ parts: [Substring]) throws(TwilioError) {
    guard parts.count == 4, parts[1] == "Accounts", parts[3] == "Messages.json" else { throw .notFound }
    let given = Array((request.headers["Authorization"] ?? "").utf8)
    guard authorizations.contains(where: { constantTimeEquals(given, $0) }), parts[2] == accountSID else {
      throw .authenticate
    }
    guard request.method == "POST" else { throw .methodNotAllowed }
    guard request.mediaType == Form.mediaType else {
      throw TwilioError(status: 415, code: 20415, message: "Unsupported Media Type")
    }
  }

  private func create(_ form: TwilioForm) -> HTTPServerResponse {
    do throws(TwilioError) {
      try form.check(callbacks)
      let now = inbox.clock.now()
      let sid = "SM" + Hexadecimal.encode(SecureRandom.bytes(16))
      let message = ReceivedMessage(
        to: form["To"] ?? "", from: form.sender, body: form["Body"] ?? "", receivedAt: now, provider: .twilio, id: sid)
      _ = inbox.record(message)
      if let url = form["StatusCallback"] {
        receipts.report(message, by: TwilioReceiptWriter(url: url, accountSID: accountSID, authToken: authToken))
      }
      return .json(status: 201, resource(message, form))
    } catch {
      inbox.refuse(String(error.code))
      return error.response
    }
  }

  private func resource(_ message: ReceivedMessage, _ form: TwilioForm) -> String {
    let date = MailDate.text(message.receivedAt.seconds)
    let path = "/2010-04-01/Accounts/\(accountSID)/Messages/\(message.id)"
    return """
      {"account_sid":\(JSONString.quote(accountSID)),"api_version":"2010-04-01","body":\(JSONString.quote(message.body)),\
      "date_created":"\(date)","date_sent":null,"date_updated":"\(date)","direction":"outbound-api",\
      "error_code":null,"error_message":null,"from":\(JSONString.quote(form["From"])),\
      "messaging_service_sid":\(JSONString.quote(form["MessagingServiceSid"])),"num_media":"0",\
      "num_segments":"\(SegmentCount.of(message.body))","price":null,"price_unit":"USD",\
      "sid":"\(message.id)","status":"\(form["From"] == nil ? "accepted" : "queued")",\
      "subresource_uris":{"media":"\(path)/Media.json"},"to":\(JSONString.quote(message.to)),"uri":"\(path).json"}
      """
  }
}
