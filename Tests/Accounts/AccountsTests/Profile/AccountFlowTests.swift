import CountersignAMQP
import CountersignCryptography
import CountersignMessages
import TestSupport
import Testing

@testable import Accounts

@Suite("Anonymous accounts, profiles and deletion", .timeLimit(.minutes(10)))
struct AccountFlowTests {
  let bench: AccountsBench

  init() async throws { bench = try await AccountsBench() }

  @Test func `An anonymous sign-up makes an account, once for a message`() async throws {
    let user = try await bench.signUp("a", ip: "192.0.2.1")
    #expect(user.reply.isNewUser == true && user.reply.phoneNumber == nil && user.ways?.provider == "anonymous")
    let event = try #require(bench.events("account.created").first)
    #expect(try AccountCreated(json: event.message.body).provider == "anonymous")
    let again = try await bench.signUp("a", ip: "192.0.2.1")
    #expect(again.claims?.sessionID == user.claims?.sessionID && bench.events("account.created").isEmpty)
    let account = try await bench.lookUp(try #require(user.idToken)).get()
    #expect(account.localID == user.reply.localID && account.phoneNumber == nil)
  }

  @Test func `An address makes a hundred anonymous accounts an hour`() async throws {
    let commands = try (0..<100).map { index in
      var command = SignUp(project: AccountsBench.project, replyKey: bench.replyKey.publicKey.jwk)
      // All of one /64.
      command.client = StartVerification.Client(ip: "2001:db8::\(String(index, radix: 16))")
      return try bench.message(command, id: "s\(index)")
    }
    await bench.deliver(batch: commands)
    #expect(bench.events("account.created").count == 100)
    let refused = try await bench.signUp("a", ip: "2001:db8::ffff")
    #expect(refused.error?.code == .tooManyAttempts)
    #expect((3600...3660).contains(refused.error?.retryAfter ?? 0))
    #expect(try await bench.signUp("b", ip: "2001:db8:0:1::1").reply.isNewUser == true)
    #expect(try await bench.signUp("c", ip: "nowhere").error?.code == .invalidArgument)
    bench.clock.advance(by: .seconds(3660))
    #expect(try await bench.signUp("d", ip: "2001:db8::ffff").reply.isNewUser == true)
  }

  @Test func `The longest profile leaves the user a token that counts`() async throws {
    let user = try await bench.signUp("u")
    _ = try await bench.update(user.idToken) {
      $0.photoURL = "https://a/" + String(repeating: "\"", count: 2038)
      $0.displayName = String(repeating: "\\", count: 256)
    }
    let token = try await bench.refresh(user.refreshToken)
    #expect(try await bench.lookUp(token).get().displayName?.utf8.count == 256)
  }

  @Test func `A profile shows what it says: no controls, no turned direction, and a picture that is on the web`()
    async throws
  {
    let user = try await bench.signUp("u")
    func refusal(_ change: (inout UpdateAccount) -> Void) async throws -> APIError {
      try ErrorReply(json: await bench.update(user.idToken, nil, change).body).error
    }
    for control in ["\u{0}", "\u{1F}", "\u{7F}", "\u{85}", "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}"] {
      let name = try await refusal { $0.displayName = "Ada\(control)" }
      #expect(name.code == .invalidArgument && name.field == "displayName", "\(control.unicodeScalars)")
      let photo = try await refusal { $0.photoURL = "https://example.com/\(control)" }
      #expect(photo.code == .invalidArgument && photo.field == "photoURL", "\(control.unicodeScalars)")
    }
    for address in [
      "javascript:alert(1)", "data:image/png;base64,AAAA", "//example.com/a.png", "a.png", "ftp://example.com/",
      " https://example.com/", "https:example.com", "https://", "https:///a.png", "http:/\\example.com",
    ] {
      let photo = try await refusal { $0.photoURL = address }
      #expect(photo.code == .invalidArgument && photo.field == "photoURL", "\(address)")
    }
    for (name, address) in [("Ada \u{200F}אדה", "HTTPS://example.com/a.png"), ("Åda 🦊", "http://[::1]:80/é")] {
      let reply = try await bench.update(user.idToken) { ($0.displayName, $0.photoURL) = (name, address) }
      let account = try AccountChanged(json: reply.body).account
      #expect(account.displayName == name && account.photoURL == address)
    }
  }

  @Test func `A profile is changed, without new tokens`() async throws {
    let user = try await bench.signUp("u")
    let reply = try await bench.update(user.idToken, "a") {
      $0.displayName = "Ada"
      $0.photoURL = "https://example.com/ada.png"
    }
    let changed = try AccountChanged(json: reply.body)
    #expect(changed.account.displayName == "Ada" && changed.account.photoURL == "https://example.com/ada.png")
    let event = try #require(bench.events("account.updated").first)
    #expect(try AccountUpdated(json: event.message.body).fields == ["displayName", "photoURL"])
    #expect(!String(decoding: event.message.body, as: UTF8.self).contains("Ada"))
    #expect(!String(decoding: reply.body, as: UTF8.self).contains("tokens"))
    let token = try #require(user.idToken)
    // Nothing changes: no event.
    _ = try await bench.update(token, "b") { $0.displayName = "Ada" }
    #expect(bench.events("account.updated").isEmpty)
    let removed = try await bench.update(token, "c") {
      $0.displayName = "ignored"
      $0.photoURL = ""
      $0.deleteAttributes = ["DISPLAY_NAME", "EMAIL"]
    }
    let account = try AccountChanged(json: removed.body).account
    #expect(account.displayName == nil && account.photoURL == nil)
  }

  @Test func `Names and addresses are bounded in bytes`() async throws {
    let user = try await bench.signUp("u")
    func error(_ id: String, _ change: (inout UpdateAccount) -> Void) async throws -> APIError {
      try ErrorReply(json: await bench.update(user.idToken, id, change).body).error
    }
    let name = try await error("a") { $0.displayName = String(repeating: "é", count: 129) }
    #expect(name.code == .invalidArgument && name.field == "displayName")
    let photo = try await error("b") { $0.photoURL = "http://" + String(repeating: "a", count: 2042) }
    #expect(photo.field == "photoURL")
    let fits = try await bench.update(user.idToken, "c") {
      $0.displayName = String(repeating: "é", count: 128)
      $0.photoURL = "http://" + String(repeating: "a", count: 2041)
    }
    #expect(try AccountChanged(json: fits.body).account.photoURL?.utf8.count == 2048)
  }

  @Test func `Unlinking the phone keeps the account, and frees the number`() async throws {
    let user = try await bench.signIn("a")
    let reply = try await bench.update(user.idToken, "b") { $0.deleteProviders = ["google.com", "phone"] }
    let account = try AccountChanged(json: reply.body).account
    #expect(account.localID == user.reply.localID && account.phoneNumber == nil)
    let next = try await bench.signIn("c")
    #expect(next.reply.isNewUser == true && next.reply.localID != user.reply.localID)
    #expect(try await bench.lookUp(try #require(user.idToken)).get().phoneNumber == nil)
  }

  @Test func `After the clock was set back tokens are good, and only a new sign-in is a recent one`() async throws {
    let before = try await bench.signIn("a")
    bench.clock.advance(by: .seconds(-86_400))
    let refreshed = try await bench.refresh(before.refreshToken)
    #expect(try await bench.lookUp(refreshed).get().localID == before.reply.localID)
    // Its `auth_time` is not from after `iat`, and so says the time of the refresh.
    let refused = try await bench.delete(refreshed)
    #expect(try ErrorReply(json: refused.body).error.code == .credentialTooOld)
    let fresh = try #require(try await bench.signIn("b").idToken)
    #expect(try AccountDeleted(json: try await bench.delete(fresh).body).localID == before.reply.localID)
  }

  @Test func `A deletion needs a recent sign-in, and erases account and sessions`() async throws {
    let old = try await bench.signIn("a")
    bench.clock.advance(by: .seconds(301))
    let token = try #require(old.idToken)
    let refused = try await bench.delete(token)
    #expect(try ErrorReply(json: refused.body).error.code == .credentialTooOld)
    let fresh = try #require(try await bench.signIn("b").idToken)
    let deleted = try await bench.delete(fresh, id: "d")
    #expect(try AccountDeleted(json: deleted.body).localID == old.reply.localID)
    #expect(bench.events("account.deleted").count == 1)
    // The same message is answered alike.
    #expect(try await bench.delete(fresh, id: "d").body == deleted.body)
    #expect(bench.events("account.deleted").isEmpty)
    #expect(try await bench.refusal(of: token)?.code == .userNotFound)
    let next = try await bench.signIn("c")
    #expect(next.reply.isNewUser == true && next.reply.localID != old.reply.localID)
  }
}
