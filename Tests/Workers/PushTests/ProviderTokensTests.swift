import CountersignCryptography
import CountersignTelemetry
import Testing

@testable import Push

@Suite struct ProviderTokensTests {
  private let tokens: ProviderTokens
  private let key: SigningKey

  init() throws {
    key = try Sample.key()
    tokens = ProviderTokens(teamID: "TEAM123456", key: key, life: .seconds(50 * 60))
  }

  private func text(after minutes: Int) throws -> String {
    try tokens.current(now: Sample.now + .seconds(60 * minutes)).text.reveal()
  }

  @Test func `A token is what Apple asks for`() throws {
    let token = try JWS.verify(text(after: 0), with: key.verifying)
    #expect(token.header == ["alg": "ES256", "kid": "ABC1234567"])
    #expect(String(decoding: token.payload, as: UTF8.self) == #"{"iss":"TEAM123456","iat":1782907200}"#)
  }

  @Test func `It is renewed in time and not sooner`() throws {
    let first = try text(after: 0)
    #expect(try text(after: 20) == first)
    #expect(try text(after: 49) == first)
    let second = try text(after: 50)
    #expect(second != first)
    #expect(try text(after: 99) == second)
    #expect(try text(after: 100) != second)
    #expect(tokens.made == 3)
  }

  @Test func `All who come at once get the same`() async throws {
    let texts = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<200 { group.addTask { [self] in try? text(after: 0) } }
      return await group.reduce(into: Set<String>()) { if let text = $1 { $0.insert(text) } }
    }
    #expect(texts.count == 1)
    #expect(tokens.made == 1)
  }

  @Test func `Expired provider tokens are renewed once`() throws {
    let old = try tokens.current(now: Sample.now)
    let now = Sample.now + .seconds(20 * 60)
    #expect(tokens.markExpired(old, now: now) == .renewed)
    let new = try tokens.current(now: now)
    // Pushes that were under way say the same of the old one.
    #expect(tokens.markExpired(old, now: now + .seconds(1)) == .replaced)
    #expect(try tokens.current(now: now + .seconds(1)).issuedAt == new.issuedAt)
    #expect(tokens.made == 2)
  }

  @Test func `Not sooner than Apple allows`() throws {
    let token = try tokens.current(now: Sample.now)
    #expect(tokens.markExpired(token, now: Sample.now + .seconds(20 * 60 - 1)) == .tooYoung)
    #expect(try text(after: 19) == token.text.reveal())
  }

  @Test func `A token of the future is not shown`() throws {
    _ = try text(after: 0)
    _ = try text(after: -19)
    #expect(tokens.made == 1)
    _ = try text(after: -20)
    #expect(tokens.made == 2)
  }

  @Test func `Provider tokens do not print`() throws {
    let token = try tokens.current(now: Sample.now)
    #expect(!"\(token)\(String(reflecting: token))".contains("eyJ"))
  }
}
