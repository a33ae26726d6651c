import CountersignMessages
import ServiceRuntime

/// Variables that the templates of a directory may name: the built-in ones of their kind, and declared ones.
public struct TemplateVariables: Sendable {
  private let builtIn: [(TemplateVariable, TemplateRule)]
  private let hidden: Set<TemplateVariable>
  /// Declared variables.
  public let own: [TemplateVariable: OwnVariable]

  /// - Parameters:
  ///   - builtIn: built-in variables with their rules.
  ///   - hidden: those of them that no text names.
  ///   - own: declared variables.
  public init(
    _ builtIn: [(TemplateVariable, TemplateRule)], hidden: Set<TemplateVariable> = [],
    own: [TemplateVariable: OwnVariable] = [:]
  ) {
    self.builtIn = builtIn
    self.hidden = hidden
    self.own = own
  }

  /// The same built-in variables with the declarations of a directory.
  public func declared(in directory: String) throws(WorkerError) -> Self {
    Self(builtIn, hidden: hidden, own: try OwnVariable.read(directory: directory))
  }

  /// Whether a variable is a declared one.
  public func isOwn(_ variable: TemplateVariable) -> Bool { own[variable] != nil }

  /// Variable of a name that a template writes.
  public func named(_ name: String) throws(TemplateFault) -> TemplateVariable {
    let known = builtIn.map(\.0).filter { !hidden.contains($0) } + own.keys.sorted { $0.name < $1.name }
    let variable = TemplateVariable(name)
    if known.contains(variable) { return variable }
    let list = known.dropLast().map(\.description).joined(separator: ", ") + (known.last.map { " and \($0)" } ?? "")
    throw TemplateFault("uses \(variable)\(Self.hint(name, known, { "{\($0)}" })); known are \(list)")
  }

  private static func hint(_ name: String, _ known: [TemplateVariable], _ written: (String) -> String) -> String {
    NearestName.of(name, among: known.map(\.name)).map { " (did you mean \(written($0))?)" } ?? ""
  }

  /// Values of a message, checked, with the defaults of the declared variables that it does not give.
  ///
  /// A value that its template does not use is ignored, declared or not: a constant that is misspelled, or declared
  /// later, stops no message.
  ///
  /// - Parameters:
  ///   - given: values of the built-in variables by name; names of others are ignored.
  ///   - custom: values of the declared variables by name.
  ///   - used: variables of the template.
  /// - Throws: the first value that is not allowed, or a name that is none, or is that of a built-in variable.
  public func values(
    _ given: [String: String], custom: [String: String] = [:], for used: Set<TemplateVariable> = []
  ) throws(TemplateProblem) -> [TemplateVariable: String] {
    var values = own.compactMapValues(\.default)
    for (variable, rule) in builtIn {
      guard let value = given[variable.name] else { continue }
      if let problem = rule(value) {
        throw TemplateProblem(.invalidVariable, "variables.\(variable.name) \(problem)")
      }
      values[variable] = value
    }
    guard custom.count <= CustomVariables.maxCount else {
      throw TemplateProblem(.invalidVariable, "variables.custom has more than \(CustomVariables.maxCount) values")
    }
    for (name, value) in custom.sorted(by: { $0.key < $1.key }) {
      let variable = TemplateVariable(name)
      guard CustomVariables.isName(name), !TemplateVariable.builtIn.contains(variable) else { throw unknown(name) }
      guard used.contains(variable), let declaration = own[variable] else { continue }
      if let problem = declaration.problem(with: value) {
        throw TemplateProblem(.invalidVariable, "variables.custom.\(name) \(problem)")
      }
      values[variable] = value
    }
    return values
  }

  /// It repeats the name only if it could be one: it came from outside.
  private func unknown(_ name: String) -> TemplateProblem {
    let place = CustomVariables.isName(name) ? "variables.custom.\(name)" : "variables.custom has a name that"
    let hint = Self.hint(name, Array(own.keys), { $0 })
    return TemplateProblem(.unknownVariable, "\(place) is not declared in \(OwnVariable.fileName)\(hint)")
  }

  /// Problem of a message without a variable that its template names, or with a name that looks like it.
  ///
  /// - Parameter custom: values of the message by name.
  public func missing(
    _ variable: TemplateVariable, by template: String, custom: [String: String] = [:]
  ) -> TemplateProblem {
    let undeclared = custom.keys.filter { own[TemplateVariable($0)] == nil }.sorted()
    if isOwn(variable), let name = undeclared.first(where: { NearestName.of($0, among: [variable.name]) != nil }) {
      return unknown(name)
    }
    let field = isOwn(variable) ? "variables.custom.\(variable.name)" : "variables.\(variable.name)"
    return TemplateProblem(.missingVariable, "\(field) is missing; template '\(template)' needs it")
  }
}

extension TemplateVariables {
  /// Checks that values make no number with one another, or with the code, that could be taken for the code.
  ///
  /// - Parameters:
  ///   - texts: texts of the template, of which none goes on in another.
  ///   - values: checked values.
  ///   - template: name of the template.
  public func checkNumbers(
    in texts: [TemplateText], _ values: [TemplateVariable: String], of template: String
  ) throws(TemplateProblem) {
    for text in texts where text.variables.contains(where: isWithoutNumbers) {
      guard let variable = text.foreignNumber(values, self) else { continue }
      throw TemplateProblem(
        .invalidVariable,
        "variables.custom.\(variable.name) makes a number in template '\(template)' that could be taken for the code")
    }
  }

  /// Whether values of a declared variable may have no number.
  func isWithoutNumbers(_ variable: TemplateVariable) -> Bool {
    own[variable].map { $0.allowsNumbers != true } ?? false
  }
}

/// Reason that the template of a job cannot be rendered. It is the sender's mistake: a later attempt fails as well.
public struct TemplateProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// Kind of the problem.
  public enum Code: String, Sendable {
    case unknownTemplate = "UNKNOWN_TEMPLATE"
    case missingVariable = "MISSING_VARIABLE"
    case invalidVariable = "INVALID_VARIABLE"
    case unknownVariable = "UNKNOWN_VARIABLE"
  }

  public let code: Code
  /// The problem and its fix. Never repeats the value of a variable.
  public let detail: String

  public init(_ code: Code, _ detail: String) {
    self.code = code
    self.detail = detail
  }

  /// Safe to log.
  public var description: String { "\(code.rawValue): \(detail)" }

  /// Reason of the job's refusal.
  public var reason: Reason { Reason(code.rawValue, detail) }
}
