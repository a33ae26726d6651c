public import JobEngine

/// Checks template files before they are used: beyond the worker's own rules, it finds texts that cost a second
/// segment, that a phone shows in the wrong direction, or that look like phishing.
public struct TemplateLinter: Sendable {
  /// Result of checking a directory.
  public struct Report: Sendable, Hashable {
    public let files: Int
    public let wordings: Int
    public let findings: [TemplateFinding]
  }

  private let sample: [TemplateVariable: String]

  /// - Parameters:
  ///   - appName: app name with which each template has to fit in one segment.
  ///   - domain: domain with which it has to fit.
  /// - Throws: when the values are not allowed in any template.
  public init(appName: String = "Example App", domain: String = "example.com") throws(SMSTemplateProblem) {
    sample = try SMSTemplates.check(["code": "482913", "appName": appName, "domain": domain])
  }

  /// Checks every `<language>.json` of a directory.
  ///
  /// - Parameters:
  ///   - directory: path of the directory.
  ///   - defaultLanguage: language that must be there.
  /// - Throws: when the directory cannot be read; a problem of a file is a finding.
  public func check(directory: String, defaultLanguage: String = "en") throws(WorkerError) -> Report {
    var files: [TemplateFile] = []
    var findings: [TemplateFinding] = []
    let names = try SMSTemplates.fileNames(in: directory)
    guard !names.isEmpty else {
      throw WorkerError(.unreadable, "\(directory) holds no <language>.json")
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

  /// Problems of the files together: a language that comes twice, or a missing fallback language.
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

  /// Forms that take more than one segment with the sample.
  private func lengths(_ forms: TemplateFile.Forms) -> [String] {
    let template: SMSTemplate
    do {
      template = try SMSTemplate(forms)
    } catch {
      // Each wording is checked on its own; only a form without any wording is left to report.
      return forms.plain.isEmpty || forms.domainBound.isEmpty ? [error.message] : []
    }
    return [("plain", MessageTail?.none), ("domainBound", .domain("", code: "")), ("for Android", .androidHash(""))]
      .compactMap { form, tail in tooLong(template, form, tail) }
  }

  private func tooLong(_ template: SMSTemplate, _ form: String, _ tail: MessageTail?) -> String? {
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

/// A problem of a template file.
public struct TemplateFinding: Sendable, Hashable, CustomStringConvertible {
  /// Name of the file, or of the directory for a problem of several files.
  public let file: String
  /// Place in the file, such as `verification.plain[0]`. Empty for the whole file.
  public let place: String
  /// The problem and its fix.
  public let problem: String

  public var description: String { place.isEmpty ? "\(file): \(problem)" : "\(file): \(place): \(problem)" }
}
