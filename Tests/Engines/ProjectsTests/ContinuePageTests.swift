import Projects
import Testing

@Suite struct ContinuePageTests {
  private static var project: Project {
    var project = Project(id: "example", number: 100_000_000_001)
    project.authDomain = "example.firebaseapp.com"
    project.authorizedDomains = ["localhost", "www.example.com"]
    return project
  }

  private func problem(_ url: String) -> ContinuePage.Problem? {
    do throws(ContinuePage.Problem) {
      _ = try ContinuePage(url, of: Self.project)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    arguments: [
      "https://www.example.com", "https://WWW.example.com/a?b=c&d=e#f", "https://example.firebaseapp.com/__/auth",
      "https://www.example.com:8443/", "http://localhost:5173/signed-in?next=/a?b", "https://www.example.com?a=%20",
    ])
  func `A page on a host of the project is taken as it is written`(url: String) throws {
    #expect(try ContinuePage(url, of: Self.project).url == url)
  }

  @Test(
    arguments: [
      "https://example.com", "https://evil.www.example.com/", "https://www.example.com.evil.example/",
      "https://www.example.comevil.example", "http://127.0.0.1/", "https://example",
    ])
  func `A page elsewhere is refused`(url: String) {
    #expect(problem(url) == .foreignHost)
  }

  @Test(
    arguments: [
      "", "www.example.com", "//www.example.com/", "http://www.example.com/", "javascript:alert(1)", "data:text/html,x",
      "HTTPS://www.example.com", "https://", "https:///a", "https://www.example.com@evil.example/",
      "https://evil.example\\@www.example.com", "https://www.example.com:0/", "https://www.example.com:x/",
      "https://www.example.com/ a", "https://www.example.com/?a=\"b", "https://www.example.com/?a=<b>",
      "https://www.example.com/#\n", "https://www.example.com/é", "https://www.example.com/?a=\u{202E}",
      "https://www.example.com/?" + String(repeating: "a", count: ContinuePage.longest),
    ])
  func `What is no protected address, or could leave its place in a page, is refused`(url: String) {
    #expect(problem(url) == .malformed)
  }

  @Test func `The longest address fits`() {
    let start = "https://www.example.com/?"
    let url = start + String(repeating: "a", count: ContinuePage.longest - start.utf8.count)
    #expect(problem(url) == nil && problem(url + "a") == .malformed)
  }

  @Test(
    arguments: [
      ("https://www.example.com", "https://www.example.com?mode=a&x=b"),
      ("https://www.example.com/?", "https://www.example.com/?mode=a&x=b"),
      ("https://www.example.com/p?mode=c", "https://www.example.com/p?mode=a&x=b&mode=c"),
      ("https://www.example.com/p#f", "https://www.example.com/p?mode=a&x=b#f"),
      ("https://www.example.com/p?q=1#f?g#h", "https://www.example.com/p?mode=a&x=b&q=1#f?g#h"),
    ])
  func `Parameters go before the page's own, and before its fragment`(url: String, expected: String) throws {
    #expect(try ContinuePage(url, of: Self.project).adding("mode=a&x=b") == expected)
  }
}
