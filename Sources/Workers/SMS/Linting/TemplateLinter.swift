/// Looks over template files as an editor would, before anybody gets a message: beyond what the worker itself refuses, it finds
/// texts that cost a second segment, that a phone shows in the wrong direction, or that look like phishing.
public struct TemplateLinter: Sendable {
  /// What a directory came to.
  public struct Report: Sendable, Hashable {
    public let files: Int
    public let wordings: Int
    public let findings: [TemplateFinding]
  }

  private let sample: [TemplateVariable: String]

  /// - Parameters:
  ///   - appName: The name that each template has to fit in one segment with.
  ///   - domain: The domain that it has to fit with.
  /// - Throws: `TemplateProblem` when no template takes them.
  public init(appName: String = "Example App", domain: String = "example.com") throws(TemplateProblem) {
    sample = try SMSTemplates.check(["code": "482913", "appName": appName, "domain": domain])
  }

  /// - Parameters:
  ///   - directory: Where the `<language>.json` are.
  ///   - defaultLanguage: The one that has to be there.
  /// - Throws: when the directory cannot be read; what is wrong with a file is a finding.
  public func check(directory: String, defaultLanguage: String = "en") throws(SMSDispatchError) -> Report {
    var files: [TemplateFile] = []
    var findings: [TemplateFinding] = []
    let names = try SMSTemplates.fileNames(in: directory)
    guard !names.isEmpty else {
      throw SMSDispatchError(.unreadable, "\(directory) holds no <language>.json")
    }
    for name in names {
      do {
        let file = try SMSTemplates.read(directory + "/" + name, name)
        findings += check(file, name)
        files.append(file)
      } catch {
        findings.append(TemplateFinding(file: name, place: "", problem: error.message))
      }
    }
    if findings.isEmpty { findings += together(files, defaultLanguage, directory) }
    let forms = files.flatMap(\.templates.values)
    return Report(
      files: names.count, wordings: forms.reduce(0) { $0 + $1.plain.count + $1.domainBound.count }, findings: findings)
  }

  /// Whether the files go together: each language once, and the default there.
  private func together(
    _ files: [TemplateFile], _ defaultLanguage: String, _ directory: String
  ) -> [TemplateFinding] {
    do {
      _ = try SMSTemplates(files, defaultLanguage: defaultLanguage)
      return []
    } catch {
      return [TemplateFinding(file: directory, place: "", problem: error.message)]
    }
  }

  private func check(_ file: TemplateFile, _ name: String) -> [TemplateFinding] {
    var findings: [TemplateFinding] = []
    for (template, forms) in file.templates.sorted(by: { $0.key < $1.key }) {
      for (form, wordings) in [("plain", forms.plain), ("domainBound", forms.domainBound)] {
        for (index, wording) in wordings.enumerated() {
          findings += WordingLinter.problems(wording, isDomainBound: form == "domainBound").map {
            TemplateFinding(file: name, place: "\(template).\(form)[\(index)]", problem: $0)
          }
        }
      }
      findings += lengths(forms).map { TemplateFinding(file: name, place: template, problem: $0) }
    }
    return findings
  }

  /// The forms that take more than one segment with the sample.
  private func lengths(_ forms: TemplateFile.Forms) -> [String] {
    let template: MessageTemplate
    do {
      template = try MessageTemplate(forms)
    } catch {
      // The wordings are looked at one by one, which finds all that is wrong with them; a form without any is left.
      return forms.plain.isEmpty || forms.domainBound.isEmpty ? [error.message] : []
    }
    return [("plain", MessageTail?.none), ("domainBound", .domain("", code: "")), ("for Android", .androidHash(""))]
      .compactMap { form, tail in tooLong(template, form, tail) }
  }

  private func tooLong(_ template: MessageTemplate, _ form: String, _ tail: MessageTail?) -> String? {
    var values = sample
    switch tail {
    case nil: values[.domain] = nil
    case .domain: break
    case .androidHash: values[.androidHash] = "FA+9qCX9VSu"
    }
    let text = template.render(values)
    guard text.segments > 1 else { return nil }
    return "\(form): takes \(text.segments) segments for the name '\(values[.appName] ?? "")'"
      + (tail == nil ? "" : " with its last line")
      + ": it has \(text.units) units of \(text.encoding.rawValue), \(text.encoding.singleLimit) fit; add a shorter wording"
  }
}
