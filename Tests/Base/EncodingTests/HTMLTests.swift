import CountersignEncoding
import Testing

@Suite struct HTMLTests {
  @Test func `A text stays what it is as content and as an attribute`() {
    #expect(
      HTML.escape(#"<a href="x">Zoë & 'Ann' 🦊</a>"#)
        == "&lt;a href=&quot;x&quot;&gt;Zoë &amp; &#39;Ann&#39; 🦊&lt;/a&gt;")
    #expect(HTML.escape("&amp;") == "&amp;amp;")
  }
}
