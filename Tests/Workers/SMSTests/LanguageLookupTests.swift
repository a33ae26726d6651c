import JobEngine
import Testing

@testable import SMS

@Suite struct LanguageLookupTests {
  @Test(
    arguments: [
      ("pt-BR", ["pt-br", "pt"]),
      ("zh-Hant-TW", ["zh-hant-tw", "zh-hant", "zh"]),
      (
        "zh-Hant-CN-x-private1-private2",
        ["zh-hant-cn-x-private1-private2", "zh-hant-cn-x-private1", "zh-hant-cn", "zh-hant", "zh"]
      ),
      ("de_AT", ["de-at", "de"]),
      ("EN", ["en"]),
      ("sl-IT-nedis", ["sl-it-nedis", "sl-it", "sl"]),
      ("es-419", ["es-419", "es"]),
      ("", []), ("-", []), ("e", []), ("e-n", []), ("1234", []), ("pt--BR", []), ("pt-", []), ("über", []),
      ("en US", []),
      ("en\n", []), ("en-toolongsubtag", []), ("*", []), ("日本語", []),
      (String(repeating: "a-", count: 10_000), []),
    ] as [(String, [String])])
  func `Chain`(tag: String, expected: [String]) {
    #expect(LanguageLookup.chain(tag) == expected)
  }

  @Test(
    arguments: [
      ("pt-BR", "é seu código"), ("pt", "é seu código"), ("PT_br", "é seu código"), ("pt-PT", "é o seu código"),
      ("pt-AO", "é o seu código"), ("pt-PT-ao1990", "é o seu código"), ("pt-XX", "é seu código"),
      ("fr-CA", "est votre code"),
      ("de-Latn-CH-1996", "ist Ihr"), ("es-419", "es su código"), ("hi-IN", "सत्यापन"), ("bn-BD", "যাচাইকরণ"),
      ("ja-JP-u-ca-japanese", "認証コード"), ("ar-EG", "رمز التحقق"), ("en-GB", "is your"), ("zh-Hant-TW", "驗證碼"),
      ("zh-TW", "驗證碼"), ("zh-HK", "驗證碼"), ("zh-CN", "验证码"), ("zh", "验证码"), ("no", "bekreftelseskoden"),
      ("nn-NO", "bekreftelseskoden"), ("sr-RS", "Ваш"), ("sr-Latn-RS", "Vaš"), ("iw", "קוד"), ("in-ID", "Anda"),
      ("tl", "inyong"),
      ("tlh", "is your"), ("garbage!", "is your"), ("", "is your"),
    ])
  func `Which of the shipped languages somebody gets`(tag: String, expected: String) throws {
    let text = try Shipped.templates().render(
      "verification", languageCode: tag, variables: ["code": "123456", "appName": "Example"])
    #expect(text.text.contains(expected))
  }
}
