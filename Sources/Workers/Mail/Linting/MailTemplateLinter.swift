import FoundationEssentials
public import JobEngine

/// Checks the templates of mail before they are used, beyond the worker's own rules. Text and HTML of a mail are made of
/// the same blocks, so neither can say more than the other.
public enum MailTemplateLinter {
  /// Whether a directory holds templates of mail: it has a layout.
  ///
  /// - Parameter directory: path of the directory.
  public static func isDirectory(_ directory: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(directory)/\(HTMLLayout.fileName)")
  }

  /// Checks every `<language>.json` of a directory, `layout.html` and `variables.json5`.
  ///
  /// - Parameters:
  ///   - directory: path of the directory.
  ///   - defaultLanguage: language that must be there.
  /// - Throws: when the directory cannot be read; a problem of a file is a finding.
  public static func check(directory: String, defaultLanguage: String = "en") throws(WorkerError) -> TemplateReport {
    var report = TemplateReport()
    let names = try TemplateFiles.names(in: directory)
    let known = report.variables(.mail, in: directory)
    var files: [MailTemplateFile] = []
    var used: [String: [String: Set<TemplateVariable>]] = [:]
    for name in names {
      do {
        let file: MailTemplateFile = try TemplateFiles.read(name, in: directory)
        used[name] = check(file, name, known, &report)
        files.append(file)
      } catch {
        report.find(name, "", error.message)
      }
    }
    report.files = names.count
    report.wordings = files.flatMap(\.templates.values).reduce(0) { $0 + 1 + $1.blocks.count }
    report.compare(used)
    do {
      let layout = try HTMLLayout(directory: directory)
      guard report.findings.isEmpty else { return report }
      _ = try MailTemplates(files, defaultLanguage: defaultLanguage, variables: known, layout: layout)
    } catch {
      report.find(directory, "", error.message)
    }
    return report
  }

  /// - Returns: variables of the templates without a problem.
  private static func check(
    _ file: MailTemplateFile, _ name: String, _ known: TemplateVariables, _ report: inout TemplateReport
  ) -> [String: Set<TemplateVariable>] {
    var used: [String: Set<TemplateVariable>] = [:]
    for (template, source) in file.templates.sorted(by: { $0.key < $1.key }) {
      do {
        let parsed = try MailTemplate(source, known, isRightToLeft: file.direction == .rtl)
        if parsed.codes > 1 { report.find(name, template, "contains {code} more than once") }
        used[template] = parsed.variables
      } catch {
        report.find(name, template, error.message)
      }
    }
    return used
  }
}
