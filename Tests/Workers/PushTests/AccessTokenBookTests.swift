import CountersignTelemetry
import Testing

@testable import Push

/// When a token is used, renewed, waited for.
@Suite struct AccessTokenBookTests {
  private func token(_ number: Int, seconds: Int64, from now: MonotonicTime = Sample.moment) -> AccessToken {
    AccessToken(text: Secret("t\(number)"), number: number, expiresAt: now + .seconds(seconds))
  }

  /// The step as a word, with the number of the token that it uses.
  private func step(_ book: AccessTokenBook, after seconds: Int64) -> String {
    switch book.step(now: Sample.moment + .seconds(seconds)) {
    case .use(let token): "use \(token.number)"
    case .useAndRenew(let token): "use \(token.number) and renew"
    case .wait: "wait"
    case .waitAndRenew: "wait and renew"
    }
  }

  private func book(with token: AccessToken) -> AccessTokenBook {
    var book = AccessTokenBook()
    book.begin()
    book.renewed(token, now: Sample.moment)
    return book
  }

  @Test func theFirstOneIsWaitedFor() {
    var book = AccessTokenBook()
    #expect(step(book, after: 0) == "wait and renew")
    book.begin()
    #expect(step(book, after: 0) == "wait")
    book.renewed(token(1, seconds: 3599), now: Sample.moment)
    #expect(step(book, after: 0) == "use 1")
  }

  @Test(
    arguments: [
      (0, "use 1"), (3298, "use 1"), (3299, "use 1 and renew"), (3588, "use 1 and renew"), (3589, "wait and renew"),
      (9999, "wait and renew"),
    ] as [(Int64, String)])
  func itIsRenewedBeforeItExpires(seconds: Int64, expected: String) {
    #expect(step(book(with: token(1, seconds: 3599)), after: seconds) == expected)
  }

  @Test(arguments: [(99, "use 1"), (100, "use 1 and renew"), (190, "wait and renew")] as [(Int64, String)])
  func aShortLifeIsHalved(seconds: Int64, expected: String) {
    #expect(step(book(with: token(1, seconds: 200)), after: seconds) == expected)
  }

  @Test func aRenewalDoesNotHoldAnybodyUp() {
    var book = book(with: token(1, seconds: 3599))
    book.begin()
    #expect(step(book, after: 3400) == "use 1")
    #expect(step(book, after: 3589) == "wait")
    book.renewed(token(2, seconds: 3599, from: Sample.moment + .seconds(3400)), now: Sample.moment + .seconds(3400))
    #expect(step(book, after: 3401) == "use 2")
  }

  @Test func aRenewalThatFailsIsRepeatedAfterAPause() {
    var book = book(with: token(1, seconds: 3599))
    book.begin()
    book.failed(now: Sample.moment + .seconds(3300))
    #expect(step(book, after: 3329) == "use 1")
    #expect(step(book, after: 3330) == "use 1 and renew")
    #expect(step(book, after: 3595) == "wait and renew")
  }

  @Test func withoutAnyThereIsNoPause() {
    var book = AccessTokenBook()
    book.begin()
    book.failed(now: Sample.moment)
    #expect(step(book, after: 0) == "wait and renew")
  }

  @Test func aRejectedTokenIsNotShownAgain() {
    var book = book(with: token(1, seconds: 3599))
    book.rejected(token(1, seconds: 3599))
    #expect(step(book, after: 0) == "wait and renew")
    book.begin()
    book.rejected(token(1, seconds: 3599))
    book.renewed(token(2, seconds: 3599), now: Sample.moment)
    // Who asked with the old one learns of it late.
    book.rejected(token(1, seconds: 3599))
    #expect(step(book, after: 0) == "use 2")
  }
}
