import CountersignEncoding
import CountersignMessages

/// Links of mails that the development stack has received: `…/oobCodes` shows those that are good.
struct MailedLinks: Sendable {
  /// Number of newest links whose codes are looked at.
  private static let limit = 100
  private static let code = "oobCode"

  let backend: Backend
  let messages: any SentMessages

  /// Oldest first.
  func codes(_ call: Call) async throws(ProtocolError) -> [CallAnswer] {
    var codes: [CallAnswer] = []
    for link in Self.links(in: try await messages.mails()).suffix(Self.limit) {
      guard let known = try await look(link.code, call), known.purpose.requestType != nil else { continue }
      var entry = CallAnswer()
      entry.put("email", known.email)
      entry.put("newEmail", known.newEmail)
      entry.put("requestType", known.purpose.requestType)
      entry.put("oobCode", link.code)
      entry.put("oobLink", link.url)
      codes.append(entry)
    }
    return codes
  }

  /// `nil` for a code that was used, is too old or another project's.
  private func look(_ code: String, _ call: Call) async throws(ProtocolError) -> MailLinkApplied? {
    do throws(ProtocolError) {
      return try await MailLinkCode(code: code, call: call, backend: backend).look()
    } catch {
      guard error.status < 500 else { throw error }
      return nil
    }
  }

  private static func links(in mails: [SentMessage]) -> [(url: String, code: String)] {
    var links: [(url: String, code: String)] = []
    for mail in mails {
      for word in mail.body.split(whereSeparator: \.isWhitespace) where word.hasPrefix("http") {
        let query = word.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
        let code = FormEncoding.decode(Array(query.utf8)).first { $0.name == Self.code }?.value
        if let code { links.append((String(word), code)) }
      }
    }
    return links
  }
}
