import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import Testing

@testable import Revocation

@Suite struct ClientSecretTests {
  private struct Claims: Decodable, Equatable {
    var iss: String
    var iat: Int64
    var exp: Int64
    var aud: String
    var sub: String
  }

  @Test func `It says who asks and for how long`() throws {
    let text = try Samples.secret().current(now: Samples.now).reveal()
    let (header, payload) = try JWS.verify(text, with: Samples.signingKey().verifying)
    #expect(header == ["alg": "ES256", "kid": "SIWAKEY001"])
    let seconds = Samples.now.seconds
    #expect(
      try JSONDecoder().decode(Claims.self, from: Data(payload))
        == Claims(
          iss: "EXAMPLE001", iat: seconds, exp: seconds + 300, aud: "https://appleid.apple.com", sub: "com.example.app")
    )
  }

  @Test func `It serves for half of its life`() throws {
    let secret = try Samples.secret()
    let first = try secret.current(now: Samples.now).reveal()
    #expect(try secret.current(now: Samples.now + .milliseconds(149_999)).reveal() == first)
    #expect(try secret.current(now: Samples.now + .seconds(150)).reveal() != first)
  }

  @Test func `One that was refused is not used again`() throws {
    let secret = try Samples.secret()
    let first = try secret.current(now: Samples.now).reveal()
    secret.discard()
    // A signature with ECDSA is another one every time.
    #expect(try secret.current(now: Samples.now).reveal() != first)
  }

  @Test func `A clock that was set back leaves no secret of the future`()
    throws
  {
    let secret = try Samples.secret()
    let first = try secret.current(now: Samples.now).reveal()
    #expect(try secret.current(now: Samples.now - .seconds(10)).reveal() != first)
  }
}
