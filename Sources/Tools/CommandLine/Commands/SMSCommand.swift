import JobEngine
import SMS
import ServiceRuntime

enum SMSCommand {
  static let group = CommandEntry("sms", "Previews the texts of short messages.", [entry])

  struct Options: CommandOptions {
    let template, language, templates: String?
    let code, appName, domain, androidHash: String?
    let transliteration, text: String?
    let custom: [String: String]

    init(_ reader: OptionReader) {
      template = reader.text("template", "NAME", "Template instead of TEXT: verification.")
      language = reader.text("language", "CODE", "Language of the template, BCP 47: the default unless given.")
      templates = reader.text(
        "templates", "DIRECTORY", "Directory of the <language>.json: Config/templates/sms unless given.")
      code = reader.text("code", "CODE", "Code in the template: 482913 unless given.")
      appName = reader.text("app-name", "NAME", "Name in the template: 'Example App' unless given.")
      domain = reader.text("domain", "DOMAIN", "Domain of the last line, for iPhones.")
      androidHash = reader.text("android-hash", "HASH", "Hash of the last line, for an Android app.")
      custom = CustomVariableOption.read(reader)
      transliteration = reader.text(
        "transliteration", "FILE", "Characters that may be replaced: Config/transliteration.json5.")
      text = reader.optionalOperand("TEXT", "Text: standard input unless given.")
      if template != nil, text != nil { reader.fail("give a TEXT or --template, not both") }
    }
  }

  static let entry = CommandEntry(
    "preview", "Shows encoding, segments and cost class of a text, or of a template in a language.",
    discussion: """
      The cost class is single for one segment; avoidable for several, at least one of which a setting of the lane would
      save; several otherwise. Each segment is billed.
      """, options: Options.self
  ) { options, context in
    let preview = SMSPreview(try text(options, context), try transliteration(options.transliteration))
    return CommandOutput(text: preview.lines, json: preview.json)
  }

  private static func text(_ options: Options, _ context: CommandContext) throws -> SMSText {
    if let template = options.template { return try rendered(template, options) }
    if let text = options.text { return SMSText(text) }
    guard let text = String(validating: try context.input(), as: UTF8.self) else {
      throw CommandLineError(.badInput, "the text is not UTF-8")
    }
    // The line feed that a shell adds after the last line is not part of the text.
    return SMSText(text.hasSuffix("\n") ? String(text.dropLast()) : text)
  }

  private static func rendered(_ template: String, _ options: Options) throws -> SMSText {
    var variables = ["code": options.code ?? "482913", "appName": options.appName ?? "Example App"]
    variables["domain"] = options.domain
    variables["androidHash"] = options.androidHash
    do {
      let templates = try SMSTemplates(
        directory: options.templates ?? TemplatesCommand.defaultDirectory, defaultLanguage: "en")
      return try templates.render(
        template, languageCode: options.language, variables: variables, custom: options.custom)
    } catch let error as WorkerError {
      throw CommandLineError(.noInput, error.message)
    } catch let error as TemplateProblem {
      throw CommandLineError(.badInput, error.description)
    }
  }

  private static func transliteration(_ file: String?) throws(CommandLineError) -> Transliteration? {
    // Outside the repository, without the shipped table, that alternative is left out.
    guard file != nil || FileFacts(defaultTable) != nil else { return nil }
    do {
      return try Transliteration(file: file ?? defaultTable)
    } catch {
      throw CommandLineError(.noInput, error.message)
    }
  }

  private static let defaultTable = "Config/transliteration.json5"
}
