import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import Testing

@testable import Push

@Suite struct ServiceAccountTests {
  private func problem(_ file: String) -> String? {
    do throws(ServiceAccountProblem) {
      _ = try ServiceAccount(file: Secret(file))
      return nil
    } catch {
      return error.description
    }
  }

  @Test func `The file is read as Google hands it out`() throws {
    let account = try Sample.account()
    #expect(account.email == Sample.accountEmail)
    #expect(account.tokenURI == Sample.tokenURI)
    #expect(account.key.id == Sample.accountKeyID)
    #expect(account.key.algorithm == .rs256)
  }

  @Test(
    arguments: [
      (
        ["type": "authorized_user"],
        "is of another type than service_account; make a key of the account in Google Cloud"
      ),
      (["type": nil], "is of another type than service_account"),
      (["client_email": nil], "has no client_email"), (["private_key": ""], "has no private_key;"),
      (["private_key_id": nil], "has no private_key_id"), (["token_uri": nil], "has no token_uri"),
      (["client_email": "nobody"], "has a client_email that is not an address"),
      (["client_email": #"a\"b@c"#], "has a client_email that is not an address"),
      (["private_key_id": #"a\"b"#], "has a private_key_id that is not letters and digits"),
      (["token_uri": "ftp://x"], "has a token_uri that is not an http:// or https:// URL"),
      (["token_uri": #"https://x/\"y"#], "has a token_uri that is not an http:// or https:// URL"),
      (["private_key": "sesame"], "has a private_key that cannot be used: the key"),
      (["private_key": Sample.keyFile], "has a private_key that is not of type RSA"),
    ] as [([String: String?], String)])
  func `Faults of the file are reported`(changes: [String: String?], text: String) throws {
    let found = try #require(problem(Sample.accountFile(changes)))
    #expect(found.hasPrefix(text), "\(found)")
    #expect(!found.contains("sesame") && !found.contains("BEGIN"))
  }

  @Test(
    arguments: ["", "AIzaSyD-an-API-key", "[]", "{", #"{"type": 1}"#, String(repeating: "[", count: 513)])
  func `Other files are reported`(file: String) {
    #expect(problem(file)?.contains("make a key of the account in Google Cloud") == true)
  }

  @Test func `A service account does not print`() throws {
    var dumped = ""
    let account = try Sample.account()
    dump(account, to: &dumped)
    #expect(!"\(account)\(dumped)".contains("PRIVATE KEY"))
  }

  @Test func `An assertion is what Google asks for`() throws {
    let account = try Sample.account()
    let text = try ServiceAccountAssertion.sign(account, now: Sample.now)
    let assertion = try JWS.verify(text, with: account.key.verifying)
    #expect(assertion.header == ["alg": "RS256", "kid": Sample.accountKeyID, "typ": "JWT"])
    #expect(
      String(decoding: assertion.payload, as: UTF8.self)
        == #"{"iss":"push@my-project.iam.gserviceaccount.com","scope":"https://www.googleapis.com/auth/cloud-platform","#
        + #""aud":"https://oauth2.googleapis.com/token","iat":1782907200,"exp":1782910800}"#)
  }
}
