import Testing

@testable import Gateway

@Suite struct ActionTextsTests {
  @Test func `Every language has every text, and the number is where it belongs`() {
    for (tag, texts) in ActionTexts.languages {
      #expect(texts.count == ActionText.allCases.count && !texts.contains(""), "\(tag)")
      let shown = ActionTexts(language: tag)
      for text in ActionText.allCases {
        #expect(shown[text].contains(ActionTexts.count) == (text == .weak), "\(tag) \(text)")
      }
    }
  }

  @Test(
    arguments: [
      ("pt", "pt-BR"), ("pt_AO", "pt-PT"), ("DE-ch", "de"), ("zh-Hant", "en"), ("??", "en"), ("", "en"), (nil, "en"),
      (String(repeating: "-", count: 10_000), "en"), ("ar-EG", "ar"),
    ] as [(String?, String)])
  func `Texts are chosen by language, as those of mails are`(asked: String?, given: String) {
    let texts = ActionTexts(language: asked)
    #expect(texts.languageTag == given && texts.isRightToLeft == (given == "ar"))
  }
}
