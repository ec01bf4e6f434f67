import { expect } from 'chai'
import { renderMarkdown } from '../../../src/http/docs/render-markdown.ts'

function render(text: string, known: Record<string, string> = {}) {
  return renderMarkdown(text, (target) => known[target])
}

describe('the pages of documents', () => {
  it('a heading has the anchor that GitHub gives it, and a number if there are several', () => {
    const text =
      '# A `code` & [link](x.md)\n\n## Step 1: `send_message`, once!\n\n## Über uns_2\n\n## Again\n\n## Again'
    expect(render(text, { 'x.md': '/docs/x' }).headings.map(({ anchor }) => anchor)).to.deep.equal([
      'a-code--link',
      'step-1-send_message-once',
      'über-uns_2',
      'again',
      'again-1',
    ])
  })

  it('HTML is shown as text, and comments are left out', () => {
    const { html } = render('<!-- not run: a reason -->\n\n<script>alert(1)</script>\n\nA <b onclick="x()">word</b>.')
    expect(html).to.not.match(/<script|<b |not run/)
    expect(html).to.include('&lt;script&gt;alert(1)&lt;/script&gt;').and.include('&lt;b onclick=&quot;x()&quot;&gt;')
  })

  it('code is escaped', () => {
    expect(render('```sh\necho "<a>" && true\n```').html).to.include('echo &quot;&lt;a&gt;&quot; &amp;&amp; true')
    expect(render('`<i>`').html).to.include('<code>&lt;i&gt;</code>')
  })

  it('a link that the site does not have becomes the name of its target, whatever its scheme', () => {
    const { html } = render('[settings](../.env.example), [Dockerfile](../Dockerfile), [x](javascript:alert(1))')
    expect(html).to.not.include('<a ')
    expect(html).to.include('settings (<code>.env.example</code> in the folder of Parley)')
    expect(html).to.include('<code>Dockerfile</code>,')
  })

  it('tables and blocks of code scroll, and the keyboard reaches them', () => {
    const { html } = render('| a |\n| --- |\n| b |\n\n```json\n{}\n```\n\n```mermaid\nflowchart LR\n```')
    expect(html).to.match(/<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>/)
    expect(html).to.include('<pre tabindex="0" data-language="json">')
    expect(html).to.match(/<figure><pre[^>]*><code>flowchart LR<\/code><\/pre>\n<figcaption>/)
  })

  it('a picture is an image if the site has it, and its description if not', () => {
    const text = '![A map](images/map.svg) ![Another](images/no.svg)'
    const { html } = render(text, { 'images/map.svg': '/docs/images/map.svg' })
    expect(html).to.include('<img src="/docs/images/map.svg" alt="A map" loading="lazy"> Another')
  })
})
