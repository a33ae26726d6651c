import FoundationEssentials
import Glibc
import Projects
import ServiceRuntime
import Testing

@testable import CommandLine

@Suite final class ProjectCommandTests {
  private let directory = FileManager.default.temporaryDirectory.appending(path: "project-\(UUID().uuidString)")
  private var path: String { directory.path(percentEncoded: false) }
  private var file: String { path + "/example.json5" }

  deinit { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.

  private func run(_ arguments: String...) async -> Run {
    await Run(FakeBackend(), arguments: ["project"] + arguments + ["--directory", path])
  }

  private func write(_ text: String) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: file))
  }

  private var text: String {
    get throws { String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self) }
  }

  private var projects: Projects { get throws { try ProjectFiles(path).projects } }

  @Test func `The first project makes the directory; its key has the form that SDKs expect`() async throws {
    let run = await run("add", "example", "--number", "100000000001", "--domain", "localhost", "--method", "anonymous")
    #expect(run.code == .success, "\(run.error)")
    let project = try #require(try projects["example"])
    #expect(project.number == 100_000_000_001 && project.authorizedDomains == ["localhost"])
    #expect(project.methods == [.anonymous] && project.authDomain == "example.firebaseapp.com")
    let key = try #require(project.apiKeys.first)
    #expect(key.count == 39 && key.hasPrefix("A") && run.output.contains(key))
    #expect(await self.run("add", "second-one", "--number", "2").code == .success)
    #expect(try projects.all.count == 2)
    #expect(try projects["second-one"]?.apiKeys != project.apiKeys && projects["second-one"]?.methods == [.phone])
  }

  @Test func `An app gets an ID, and its settings are printed in three forms`() async throws {
    _ = await run("add", "example", "--number", "100000000001")
    let added = await run("app", "example", "--platform", "ios", "--id", "com.example.app")
    #expect(added.code == .success, "\(added.error)")
    #expect(added.error.contains("'apps' of the coordinator") && !added.output.contains("coordinator"))
    #expect(!added.error.contains("comments"))
    let project = try #require(try projects["example"])
    let app = try #require(project.app(id: "com.example.app"))
    #expect(app.appID.hasPrefix("1:100000000001:ios:"))
    for part in [app.appID, app.encodedAppID, project.apiKeys.first ?? "-", "example.firebaseapp.com"] {
      #expect(added.output.contains(part))
    }
    let list = await run("show", "example", "com.example.app", "--plist")
    for part in [
      "<key>GOOGLE_APP_ID</key>\n  <string>\(app.appID)</string>", "<key>BUNDLE_ID</key>\n  <string>com.example.app<",
      "<key>GCM_SENDER_ID</key>\n  <string>100000000001<", "<key>PROJECT_ID</key>\n  <string>example<",
    ] {
      #expect(list.output.contains(part), "\(list.output)")
    }
    let data = Data(list.output.utf8)
    let decoded = try PropertyListDecoder().decode(AppleSettings.self, from: data)
    #expect(decoded.apiKey == project.apiKeys.first)
    let json = await run("show", "example", "com.example.app", "--json")
    #expect(json.output.contains(#""encodedAppID":"\#(app.encodedAppID)""#))
    #expect(json.output.contains(#""messagingSenderId":"100000000001""#))
    let page = await run(
      "app", "example", "--platform", "web", "--id", "page", "--origin", "https://example.com", "--origin",
      "http://localhost:*")
    #expect(page.code == .success && !page.output.contains("URL scheme"))
    #expect(try projects["example"]?.app(origin: "http://localhost:1")?.id == "page")
    #expect(await run("show", "example").output.contains("com.example.app"))
    #expect(await run("list").output.contains("example  100000000001  phone    2"))
  }

  @Test func `Ways to sign in are switched on and off, with what the provider knows the project by`() async throws {
    _ = await run("add", "example", "--number", "100000000001")
    let early = await run("enable", "example", "google.com")
    #expect(early.code == .badInput && early.error.contains("providers.google.com.clientIDs"), "\(early.error)")
    let on = await run("enable", "example", "google.com", "--client-id", "one", "--client-id", "two")
    #expect(on.code == .success && on.output.contains("google.com, phone"), "\(on.error)\(on.output)")
    #expect(await run("enable", "example", "google.com", "--client-id", "two", "--client-id", "three").code == .success)
    #expect(await run("enable", "example", "facebook.com", "--app-id", "123").code == .success)
    let project = try #require(try projects["example"])
    #expect(project.methods == [.phone, .provider("google.com"), .provider("facebook.com")])
    #expect(project.clientIDs(of: "google.com") == ["one", "two", "three"])
    #expect(await run("show", "example").output.contains("client one, client two, client three"))
    #expect(await run("disable", "example", "google.com").code == .success)
    #expect(try projects["example"]?.methods == [.phone, .provider("facebook.com")])
    #expect(try projects["example"]?.clientIDs(of: "google.com").count == 3, "for the next time")
    #expect(await run("enable", "example", "mail").code == .badInput)
    for method in ["password", "emailLink", "custom"] {
      #expect(await run("enable", "example", method).code == .success)
      #expect(try projects["example"]?.methods.contains(.init(rawValue: method)) == true)
      #expect(await run("disable", "example", method).code == .success)
    }
    #expect(await run("enable", "example", "phone", "--client-id", "x").code == .usage)
    #expect(await run("enable", "other", "phone").code == .badInput)
  }

  @Test func `A file is written whole: keys and mode stay, and a note tells that comments are gone`() async throws {
    try write("{ number: 1, /* ours */ apiKeys: ['fake-api-key'], recentLogin: { phone: false } }")
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
    let first = await run("app", "example", "--platform", "ios", "--id", "com.example.app")
    #expect(first.code == .success && first.error.contains("comments in it are gone"), "\(first.error)")
    let second = await run("app", "example", "--platform", "android", "--id", "com.example.android")
    #expect(second.code == .success && !second.error.contains("comments"))
    let project = try #require(try projects["example"])
    #expect(project.apps.count == 2 && project.apiKeys == ["fake-api-key"] && !project.recentLogin.phone)
    #expect(try text.hasPrefix("{\n  \"apiKeys\": [\n"))
    var status = stat()
    let answer = stat(file, &status)
    #expect(answer == 0 && status.st_mode & 0o777 == 0o640)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["example.json5"])
  }

  @Test func `An app is entered once, with the way in which it is proven`() async throws {
    _ = await run("add", "example", "--number", "100000000001")
    let app = ["app", "example", "--platform", "ios", "--id", "com.example.app", "--directory", path]
    for (arguments, code) in [
      (["--name", "Example"], ExitCode.usage), (["--verification", "push"], .usage),
      (["--name", "Example", "--verification", "pushed"], .badInput),
    ] {
      #expect(await Run(FakeBackend(), arguments: ["project"] + app + arguments).code == code)
    }
    let added = await Run(
      FakeBackend(), arguments: ["project"] + app + ["--name", "Example", "--verification", "push"])
    #expect(added.code == .success && added.error.isEmpty, "\(added.error)")
    #expect(try text.contains(#""verification": "push""#))
  }

  @Test func `Duplicates and wrong values are refused, and the file stays`() async throws {
    _ = await run("add", "example", "--number", "100000000001")
    _ = await run("app", "example", "--platform", "ios", "--id", "com.example.app")
    let before = try text
    for arguments in [
      ["add", "example", "--number", "2"], ["add", "example-2", "--number", "100000000001"],
      ["add", "Example", "--number", "3"], ["add", "example-2", "--number", "3", "--domain", "https://example.com"],
      ["app", "example", "--platform", "ios", "--id", "com.example.app"],
      ["app", "example", "--platform", "web", "--id", "page", "--origin", "https://example.com/page"],
      ["app", "example", "--platform", "web", "--id", "a b"], ["app", "absent", "--platform", "ios", "--id", "a"],
      ["show", "absent"], ["show", "example", "absent"],
    ] {
      let run = await Run(FakeBackend(), arguments: ["project"] + arguments + ["--directory", path])
      #expect(run.code == .badInput, "\(arguments): \(run.output)\(run.error)")
    }
    for arguments in [
      ["add", "example-2"], ["add", "example-2", "--number", "0"], ["app", "example", "--id", "a"],
      ["app", "example", "--platform", "ios"], ["add", "example-2", "--number", "3", "--method", "sms"],
      ["app", "example", "--platform", "ios", "--id", "a", "--origin", "https://example.com"],
      ["app", "example", "--platform", "web", "--id", "a", "--plist"], ["show", "example", "--plist"],
    ] {
      let run = await Run(FakeBackend(), arguments: ["project"] + arguments + ["--directory", path])
      #expect(run.code == .usage, "\(arguments)")
    }
    #expect(try text == before)
    #expect(await run("app", "example", "--platform", "ios", "--id", "a b").error.contains("--id must be"))
    #expect(await run("show", "absent").error.contains("has no project absent; it has: example"))
    let origin = await run("app", "example", "--platform", "web", "--id", "page", "--origin", "example.com").error
    #expect(origin.ranges(of: file).count == 1 && origin.contains("apps.page.origins.0: must be"), "\(origin)")
    #expect(await Run(FakeBackend(), "project", "list").code == .configuration)
    #expect(await Run(FakeBackend(), "project", "list", "--directory", path + ".absent").code == .noInput)
  }

  @Test func `A file that is wrong already is not written, and no hindrance to others`() async throws {
    try write("{ number: 0 }")
    let refused = await run("add", "example", "--number", "2")
    #expect(refused.code == .badInput && refused.error.contains("example.json5: number"))
    #expect(try text == "{ number: 0 }")
    #expect(await run("add", "second-one", "--number", "2").code == .success)
    let list = await run("list")
    #expect(
      list.code == .success && list.output.contains("second-one") && list.output.contains("example.json5: number"))
  }

  @Test func `Commands at the same time lose nothing of each other`() async throws {
    let count = 16
    await withTaskGroup(of: Run.self) { group in
      for number in 1...count {
        group.addTask { [path] in
          await Run(
            FakeBackend(),
            arguments: ["project", "add", "example-\(number)", "--number", "\(number)", "--directory", path])
        }
      }
      for await run in group { #expect(run.code == .success, "\(run.error)") }
    }
    #expect(try projects.all.count == count)
    await withTaskGroup(of: Run.self) { group in
      for number in 1...count {
        group.addTask { [path] in
          await Run(
            FakeBackend(),
            arguments: [
              "project", "app", "example-1", "--platform", "ios", "--id", "app-\(number)", "--directory", path,
            ])
        }
      }
      for await run in group { #expect(run.code == .success, "\(run.error)") }
    }
    #expect(try projects["example-1"]?.apps.count == count)
  }

  @Test func `A change waits for one that another command has begun, and gives up in the end`() throws {
    try write("{ number: 1, apiKeys: ['fake-api-key'] }")
    _ = try ProjectFiles.change("example", in: path) { (_, _) throws(CommandLineError) in
      let error = #expect(throws: CommandLineError.self) {
        try ProjectFiles.change("example", in: path, patience: .zero) { (_, _) throws(CommandLineError) in
          Issue.record("it goes on")
        }
      }
      #expect(error?.code == .unavailable)
    }
    let (project, _) = try ProjectFiles.change("example", in: path, patience: .zero) {
      (_, _) throws(CommandLineError) in
    }
    #expect(project.number == 1)
  }
}

private struct AppleSettings: Decodable {
  let apiKey: String

  enum CodingKeys: String, CodingKey {
    case apiKey = "API_KEY"
  }
}
