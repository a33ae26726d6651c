public import JobEngine

/// Checks template files before they are used: beyond the worker's own rules, it finds texts that cost a second
/// segment, that a phone shows in the wrong direction, or that look like phishing.
public struct TemplateLinter: Sendable {
  private let sample: [TemplateVariable: String]

  /// - Parameters:
  ///   - appName: app name with which each template has to fit in one segment.
  ///   - domain: domain with which it has to fit.
  /// - Throws: when the values are not allowed in any template.
  public init(appName: String = "Example App", domain: String = "example.com") throws(TemplateProblem) {
    sample = try TemplateVariables.sms.values(["code": "482913", "appName": appName, "domain": domain])
  }

  /// Checks every `<language>.json` of a directory, and `variables.json5`.
  ///
  /// - Parameters:
  ///   - directory: path of the directory.
  ///   - defaultLanguage: language that must be there.
  /// - Throws: when the directory cannot be read; a problem of a file is a finding.
  public func check(directory: String, defaultLanguage: String = "en") throws(WorkerError) -> TemplateReport {
    var report = TemplateReport()
    var files: [SMSTemplateFile] = []
    let names = try TemplateFiles.names(in: directory)
    guard !names.isEmpty else {
      throw WorkerError(.unreadable, "\(directory) holds no <language>.json")
    }
    let known = report.variables(.sms, in: directory)
    for name in names {
      do {
        let file: SMSTemplateFile = try TemplateFiles.read(name, in: directory)
        check(file, name, known, &report)
        files.append(file)
      } catch {
        report.find(name, "", error.message)
      }
    }
    report.files = names.count
    report.wordings = files.flatMap(\.templates.values).reduce(0) { $0 + $1.plain.count + $1.domainBound.count }
    if report.findings.isEmpty { together(files, defaultLanguage, known, directory, &report) }
    return report
  }

  /// Problems of the files together: a language that comes twice, a missing fallback language, a variable that only
  /// some languages have.
  private func together(
    _ files: [SMSTemplateFile], _ defaultLanguage: String, _ known: TemplateVariables, _ directory: String,
    _ report: inout TemplateReport
  ) {
    do {
      _ = try SMSTemplates(files, defaultLanguage: defaultLanguage, variables: known)
      var used: [String: [String: Set<TemplateVariable>]] = [:]
      for file in files {
        used[file.language + ".json"] = file.templates.compactMapValues { forms in
          // A template with a problem is a finding, and there is none here.
          (try? SMSTemplate(forms, known))?.variables
        }
      }
      report.compare(used)
    } catch {
      report.find(directory, "", error.message)
    }
  }

  private func check(
    _ file: SMSTemplateFile, _ name: String, _ known: TemplateVariables, _ report: inout TemplateReport
  ) {
    for (template, forms) in file.templates.sorted(by: { $0.key < $1.key }) {
      for (form, wordings) in [("plain", forms.plain), ("domainBound", forms.domainBound)] {
        for (index, wording) in wordings.enumerated() {
          for problem in WordingLinter.problems(wording, isDomainBound: form == "domainBound", known) {
            report.find(name, "\(template).\(form)[\(index)]", problem)
          }
        }
      }
      checkLengths(forms, known, name, template, &report)
    }
  }

  // MARK: Lengths

  private func checkLengths(
    _ forms: SMSTemplateFile.Forms, _ known: TemplateVariables, _ file: String, _ name: String,
    _ report: inout TemplateReport
  ) {
    let template: SMSTemplate
    do {
      template = try SMSTemplate(forms, known)
    } catch {
      // Each wording is checked on its own; only a form without any wording is left to report.
      if forms.plain.isEmpty || forms.domainBound.isEmpty { report.find(file, name, error.message) }
      return
    }
    let tails: [(String, MessageTail?)] = [
      ("plain", nil), ("domainBound", .domain("", code: "")), ("for Android", .androidHash("")),
    ]
    for (form, tail) in tails {
      let values = sample(tail)
      if let problem = tooLong(template, form, tail, values.merging(short(known)) { value, _ in value }) {
        report.find(file, name, problem)
      }
      let own = template.required(tail).filter(known.isOwn)
      if !own.isEmpty { report.note(file, name, "\(form): " + cost(template, values, own, known)) }
    }
  }

  private func sample(_ tail: MessageTail?) -> [TemplateVariable: String] {
    var values = sample
    switch tail {
    case nil: values[.domain] = nil
    case .domain: break
    case .androidHash: values[.androidHash] = "FA+9qCX9VSu"
    }
    return values
  }

  /// Each declared variable with its default, or with one letter.
  private func short(_ known: TemplateVariables) -> [TemplateVariable: String] {
    known.own.mapValues { $0.default ?? "A" }
  }

  private func tooLong(
    _ template: SMSTemplate, _ form: String, _ tail: MessageTail?, _ values: [TemplateVariable: String]
  ) -> String? {
    let text = template.render(values)
    guard text.segments > 1 else { return nil }
    return "\(form): takes \(text.segments) segments for the name '\(values[.appName] ?? "")'"
      + (tail == nil ? "" : " with its last line")
      + ": it has \(text.units) units of \(text.encoding.rawValue), \(text.encoding.singleLimit) fit; add a shorter wording"
  }

  /// Segments with the longest values that are allowed, in letters of GSM 7 bit and in others: one of these makes the
  /// whole message UCS-2.
  private func cost(
    _ template: SMSTemplate, _ values: [TemplateVariable: String], _ own: [TemplateVariable],
    _ known: TemplateVariables
  ) -> String {
    let sizes = ["x", "ж"].map { letter in
      let longest = known.own.mapValues { String(repeating: letter, count: $0.maxLength) }
      let text = template.render(values.merging(longest) { value, _ in value })
      return "\(text.segments) \(text.segments == 1 ? "segment" : "segments") of \(text.encoding.rawValue)"
    }
    let names = own.map(\.description).joined(separator: ", ")
    let others = sizes[0] == sizes[1] ? "" : ", \(sizes[1]) with other letters than those of GSM 7 bit"
    return "with the longest \(names) \(sizes[0])\(others)"
  }
}
