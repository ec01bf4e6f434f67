import { expect } from 'chai'
import {
  buildChannel,
  buildContact,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  getSandboxId,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const named = (...names: string[]) => names.map((name) => ({ param_name: name, example: `an ${name}` }))

describe('content of templates', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let sandboxId: string

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    sandboxId = await getSandboxId(owner)
  })

  after(() => app.stop())

  let count = 0
  const template = (components: object[]) => {
    count += 1
    return { channelId: sandboxId, name: `content_${count}`, language: 'en', category: 'utility', components }
  }

  it('POST /api/templates returns components, body, variables with examples and the parameter format', async () => {
    const components = [
      { type: 'HEADER', format: 'DOCUMENT' },
      {
        type: 'BODY',
        text: 'Hi {{name}}, {{item}} is here.',
        example: { body_text_named_params: named('name', 'item') },
      },
      { type: 'FOOTER', text: 'Thanks' },
      {
        type: 'BUTTONS',
        buttons: [
          { type: 'QUICK_REPLY', text: 'Great' },
          { type: 'URL', text: 'Open', url: 'https://example.com/{{1}}', example: ['https://example.com/17'] },
        ],
      },
    ]
    const created = await owner.call('POST', '/api/templates', template(components))
    expect(created).to.deep.include({ components, body: 'Hi {{name}}, {{item}} is here.', parameterFormat: 'named' })
    expect(created.variables).to.deep.equal([
      { name: 'header.link', example: null, where: 'header', required: true },
      { name: 'header.mediaId', example: null, where: 'header', required: false },
      { name: 'header.filename', example: null, where: 'header', required: false },
      { name: 'name', example: 'an name', where: 'body', required: true },
      { name: 'item', example: 'an item', where: 'body', required: true },
      { name: 'button.0', example: null, where: 'button', required: false },
      { name: 'button.1', example: 'https://example.com/17', where: 'button', required: true },
    ])
    expect(await owner.call('GET', `/api/templates/${created.id}`)).to.deep.equal(created)
  })

  it('POST /api/templates accepts types in lower case and returns them in upper case', async () => {
    const components = [
      { type: 'body', text: 'Hi' },
      { type: 'buttons', buttons: [{ type: 'quick_reply', text: 'Yes' }] },
    ]
    const created = await owner.call('POST', '/api/templates', template(components))
    expect(created.components).to.deep.equal([
      { type: 'BODY', text: 'Hi' },
      { type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY', text: 'Yes' }] },
    ])
  })

  it('POST /api/templates with only a body makes one component, with the names of variables as examples', async () => {
    const created = await buildTemplate(owner, { name: 'only_body', body: 'Hi {{name}}' })
    expect(created.components).to.deep.equal([
      {
        type: 'BODY',
        text: 'Hi {{name}}',
        example: { body_text_named_params: [{ param_name: 'name', example: 'name' }] },
      },
    ])
  })

  const BODY = { type: 'BODY', text: 'Hi' }
  const buttons = (...list: object[]) => [BODY, { type: 'BUTTONS', buttons: list }]
  const replies = (length: number) =>
    Array.from({ length }, (_, index) => ({ type: 'QUICK_REPLY', text: `Reply ${index}` }))
  const url = (rest: object = {}) => ({ type: 'URL', text: 'Open', url: 'https://example.com', ...rest })

  const INVALID: [string, object[], string][] = [
    ['no body', [{ type: 'FOOTER', text: 'a' }], 'must have a component of type BODY'],
    ['two bodies', [BODY, BODY], 'repeats the component BODY'],
    [
      'a header of 61 characters',
      [{ type: 'HEADER', format: 'TEXT', text: 'x'.repeat(61) }, BODY],
      'at most 60 characters',
    ],
    [
      'a header of 2 variables',
      [{ type: 'HEADER', format: 'TEXT', text: '{{a}} {{b}}' }, BODY],
      'at most 1 variable in a header',
    ],
    ['a header of text without text', [{ type: 'HEADER', format: 'TEXT' }, BODY], 'is required in a header'],
    ['a body of 1025 characters', [{ type: 'BODY', text: 'x'.repeat(1025) }], 'at most 1024 characters'],
    ['a footer of 61 characters', [BODY, { type: 'FOOTER', text: 'x'.repeat(61) }], 'at most 60 characters'],
    ['a footer with a variable', [BODY, { type: 'FOOTER', text: 'Hi {{a}}' }], 'must not have variables in a footer'],
    [
      'a variable without example',
      [{ type: 'BODY', text: 'Hi {{name}}!' }],
      'must have an example for the variable "name"',
    ],
    ['mixed variables', [{ type: 'BODY', text: 'Hi {{1}} {{name}}' }], 'mixes named and positional variables'],
    ['gaps in positional variables', [{ type: 'BODY', text: 'Hi {{1}} {{3}}' }], 'without gaps'],
    ['a variable with a bad name', [{ type: 'BODY', text: 'Hi {{First Name}}' }], 'has the variable "{{First Name}}"'],
    ['open braces', [{ type: 'BODY', text: 'Hi {{name' }], 'has braces that belong to no variable'],
    ['11 buttons', buttons(...replies(11)), 'must have at most 10 buttons'],
    ['a button of 26 characters', buttons({ type: 'QUICK_REPLY', text: 'x'.repeat(26) }), 'at most 25 characters'],
    [
      '3 addresses',
      buttons(url({ text: 'a' }), url({ text: 'b' }), url({ text: 'c' })),
      'at most 2 buttons of type URL',
    ],
    [
      '2 phone numbers',
      buttons(
        { type: 'PHONE_NUMBER', text: 'a', phone_number: '+4930123' },
        { type: 'PHONE_NUMBER', text: 'b', phone_number: '+4930124' },
      ),
      'at most 1 button of type PHONE_NUMBER',
    ],
    [
      'separated replies',
      buttons({ type: 'QUICK_REPLY', text: 'a' }, url(), { type: 'QUICK_REPLY', text: 'b' }),
      'between',
    ],
    ['a repeated button', buttons(...replies(1), ...replies(1)), 'must not repeat the text of a button'],
    ['a variable inside an address', buttons(url({ url: 'https://example.com/{{1}}/x' })), 'at its end'],
    ['a variable address without example', buttons(url({ url: 'https://example.com/{{1}}' })), 'must have an example'],
    ['no address', buttons(url({ url: 'example' })), 'must be an http or https address'],
    ['a code of 16 characters', buttons({ type: 'COPY_CODE', example: 'x'.repeat(16) }), 'at most 15 characters'],
  ]
  for (const [title, components, message] of INVALID) {
    it(`POST /api/templates returns 400 for ${title}`, async () => {
      const { status, body } = await owner.request('POST', '/api/templates', template(components))
      expect([status, body.code]).to.deep.equal([400, 'validation_failed'])
      expect(body.error).to.include(message)
    })
  }

  it('PATCH /api/templates/{templateId} changes a draft and returns 409 for an approved template of a provider', async () => {
    const channel = await buildChannel(owner)
    const draft = await buildTemplate(owner, { channelId: channel.id, name: 'patched' })
    const path = `/api/templates/${draft.id}`
    const changed = await owner.call('PATCH', path, { name: 'renamed', category: 'utility', body: 'New' })
    expect(changed).to.include({ name: 'renamed', category: 'utility', body: 'New', status: 'draft', language: 'en' })
    await app.system.db('templates').where('id', draft.id).update({ status: 'approved' })
    const refused = await owner.request('PATCH', path, { body: 'Newer' })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'template_not_editable'])
  })

  it('PATCH /api/templates/{templateId} returns 409 when the new name is taken', async () => {
    const [first, second] = [
      await buildTemplate(owner, { name: 'taken_one' }),
      await buildTemplate(owner, { name: 'taken_two' }),
    ]
    const conflict = await owner.request('PATCH', `/api/templates/${second.id}`, { name: first.name })
    expect([conflict.status, conflict.body.code]).to.deep.equal([409, 'template_exists'])
  })

  it('POST /api/templates/{templateId}/preview fills in placeholders from the contact', async () => {
    const { id } = await owner.call(
      'POST',
      '/api/templates',
      template([
        { type: 'HEADER', format: 'TEXT', text: 'For {{name}}', example: { header_text_named_params: named('name') } },
        { type: 'BODY', text: 'Hi {{name}}!', example: { body_text_named_params: named('name') } },
        { type: 'FOOTER', text: 'Bye' },
        { type: 'BUTTONS', buttons: [url({ url: 'https://example.com/{{1}}', example: ['https://example.com/1'] })] },
      ]),
    )
    const contact = await buildContact(owner, { name: 'Bruna' })
    const params = { name: '{{contact.name | upcase}}', 'button.0': 'orders/{{contact.id}}' }
    const preview = await owner.call('POST', `/api/templates/${id}/preview`, { params, contactId: contact.id })
    expect(preview).to.deep.include({
      header: 'For BRUNA',
      body: 'Hi BRUNA!',
      footer: 'Bye',
      buttons: [{ type: 'url', text: 'Open', value: `https://example.com/orders/${contact.id}` }],
      params: { name: 'BRUNA', 'button.0': `orders/${contact.id}` },
    })
  })

  it('POST /api/templates/{templateId}/preview returns 422 naming the parameters that do not fit', async () => {
    const { id } = await buildTemplate(owner, { name: 'preview_params', body: 'Hi {{name}}' })
    const path = `/api/templates/${id}/preview`
    const refused = await owner.request('POST', path, { params: { nick: 'a' } })
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'template_params_invalid'])
    expect(refused.body.details).to.deep.equal([
      { path: 'params.name', message: 'is missing' },
      { path: 'params.nick', message: 'is not a variable of the template' },
    ])
    const invalid = await owner.request('POST', path, { params: { name: '{{contact.name' } })
    expect([invalid.status, invalid.body.code]).to.deep.equal([422, 'placeholder_failed'])
  })

  it('POST /api/templates/{templateId}/preview limits the work of placeholders', async () => {
    const { id } = await buildTemplate(owner, { name: 'preview_work', body: 'Hi {{name}}' })
    const params = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => [key, '{{ (1..900000) | size }}']))
    const refused = await owner.request('POST', `/api/templates/${id}/preview`, { params })
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'budget_exceeded'])
  })

  it('GET /api/templates/{templateId}/uses lists workflows and broadcasts, and DELETE is refused meanwhile', async () => {
    const { id, name, language } = await buildTemplate(owner, { name: 'in_use' })
    expect(await owner.call('GET', `/api/templates/${id}/uses`)).to.deep.equal({ workflows: [], broadcasts: [] })
    const step = { id: 'send', type: 'send_template', template: { name, language } }
    const workflow = await buildWorkflow(owner, { steps: [step] }, { name: 'Reminder', publish: false })
    const broadcast = await owner.call('POST', '/api/broadcasts', { name: 'Sale', templateId: id })
    expect(await owner.call('GET', `/api/templates/${id}/uses`)).to.deep.equal({
      workflows: [{ id: workflow.id, name: 'Reminder', status: 'draft', inDraft: true, inPublished: false }],
      broadcasts: [{ id: broadcast.id, name: 'Sale', status: 'draft' }],
    })
    const refused = await owner.request('DELETE', `/api/templates/${id}`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'template_in_use'])
    expect(refused.body.error).to.include('"Reminder", "Sale"')
    await owner.call('PATCH', `/api/workflows/${workflow.id}`, {
      definition: { version: 1, steps: [{ ...step, template: { templateId: id } }] },
    })
    await owner.request('DELETE', `/api/broadcasts/${broadcast.id}`)
    expect((await owner.request('DELETE', `/api/templates/${id}`)).status).to.equal(409)
    await owner.call('PATCH', `/api/workflows/${workflow.id}`, { definition: { version: 1, steps: [] } })
    expect((await owner.request('DELETE', `/api/templates/${id}`)).status).to.equal(204)
  })
})
