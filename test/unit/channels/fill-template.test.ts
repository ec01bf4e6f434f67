import { expect } from 'chai'
import { fillTemplate } from '../../../src/features/templates/sendable-template.ts'
import { type SendableTemplate, toSendableTemplate } from '../../../src/channels/templates/fill-template.ts'

function sendable(components: object[]): SendableTemplate {
  const template = toSendableTemplate({
    id: 't1',
    channelId: 'c1',
    name: 'sale',
    language: 'en',
    category: 'marketing',
    components,
  })
  if (!template) throw new Error('The template cannot be sent')
  return template
}

function toComponents(template: SendableTemplate, params: Record<string, string>): unknown {
  return fillTemplate(template, params).content.template.components
}

const BODY = { type: 'BODY', text: 'Hi' }

describe('filling in a template', () => {
  it('names the parameters of a template with named variables, in header and body', () => {
    const template = sendable([
      { type: 'HEADER', format: 'TEXT', text: 'For {{name}}' },
      { type: 'BODY', text: 'Hi {{name}}, order {{order_id}} is here' },
    ])
    expect(template.variables.map(({ name, where }) => [name, where])).to.deep.equal([
      ['name', 'header'],
      ['order_id', 'body'],
    ])
    const filled = fillTemplate(template, { name: 'Ana', order_id: '17' })
    expect(filled.body).to.equal('Hi Ana, order 17 is here')
    expect(filled.category).to.equal('marketing')
    expect(filled.content.template).to.deep.equal({
      id: 't1',
      name: 'sale',
      language: 'en',
      components: [
        { type: 'header', parameters: [{ type: 'text', parameter_name: 'name', text: 'Ana' }] },
        {
          type: 'body',
          parameters: [
            { type: 'text', parameter_name: 'name', text: 'Ana' },
            { type: 'text', parameter_name: 'order_id', text: '17' },
          ],
        },
      ],
    })
  })

  it('orders positional parameters by number, with a key of its own for the header', () => {
    const template = sendable([
      { type: 'HEADER', format: 'TEXT', text: 'Order {{1}}' },
      { type: 'BODY', text: '{{2}} before {{1}}' },
    ])
    expect(toComponents(template, { 'header.1': '17', 1: 'one', 2: 'two' })).to.deep.equal([
      { type: 'header', parameters: [{ type: 'text', text: '17' }] },
      {
        type: 'body',
        parameters: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      },
    ])
  })

  it('fills in the file of a header and the parameters of buttons', () => {
    const template = sendable([
      { type: 'HEADER', format: 'DOCUMENT' },
      BODY,
      {
        type: 'BUTTONS',
        buttons: [
          { type: 'QUICK_REPLY', text: 'Yes' },
          { type: 'URL', text: 'Open', url: 'https://example.com/{{1}}' },
          { type: 'COPY_CODE', example: 'SALE20' },
          { type: 'PHONE_NUMBER', text: 'Call', phone_number: '+4930123' },
        ],
      },
    ])
    const params = {
      'header.link': 'https://example.com/a.pdf',
      'header.filename': 'a.pdf',
      'button.1': 'orders/1',
      'button.2': 'X1',
    }
    expect(toComponents(template, params)).to.deep.equal([
      {
        type: 'header',
        parameters: [{ type: 'document', document: { link: 'https://example.com/a.pdf', filename: 'a.pdf' } }],
      },
      { type: 'button', sub_type: 'url', index: '1', parameters: [{ type: 'text', text: 'orders/1' }] },
      {
        type: 'button',
        sub_type: 'copy_code',
        index: '2',
        parameters: [{ type: 'coupon_code', coupon_code: 'X1' }],
      },
    ])
  })

  it('fills in a location and the token of a flow', () => {
    const template = sendable([
      { type: 'HEADER', format: 'LOCATION' },
      BODY,
      { type: 'BUTTONS', buttons: [{ type: 'FLOW', text: 'Start', flow_id: '1' }] },
    ])
    const location = { latitude: '52.52', longitude: '13.4', name: 'Shop', address: 'Main St 1' }
    const params = Object.fromEntries(Object.entries(location).map(([field, value]) => [`header.${field}`, value]))
    expect(toComponents(template, params)).to.deep.equal([
      { type: 'header', parameters: [{ type: 'location', location }] },
      {
        type: 'button',
        sub_type: 'flow',
        index: '0',
        parameters: [{ type: 'action', action: { flow_token: 'unused' } }],
      },
    ])
  })

  it('replaces line breaks and repeated spaces in values, which the provider rejects', () => {
    const template = sendable([{ type: 'BODY', text: 'Hi {{name}}!' }])
    expect(fillTemplate(template, { name: ' Ana\n\tMaria     Silva ' }).body).to.equal('Hi Ana Maria Silva!')
  })

  it('rejects missing, empty, unknown and too long parameters, each by its name', () => {
    const template = sendable([{ type: 'BODY', text: 'Hi {{first}} {{last}}' }])
    const act = () => fillTemplate(template, { first: ' ', nick: 'x' })
    expect(act)
      .to.throw()
      .that.deep.includes({
        code: 'template_params_invalid',
        details: [
          { path: 'params.first', message: 'is empty' },
          { path: 'params.last', message: 'is missing' },
          { path: 'params.nick', message: 'is not a variable of the template' },
        ],
      })
    const header = sendable([{ type: 'HEADER', format: 'TEXT', text: '{{name}}' }, BODY])
    expect(() => fillTemplate(header, { name: 'x'.repeat(61) })).to.throw('"name" must have at most 60 characters')
  })

  it('rejects a link that is no address, coordinates off the map and a button suffix with spaces', () => {
    const image = sendable([{ type: 'HEADER', format: 'IMAGE' }, BODY])
    expect(() => fillTemplate(image, { 'header.link': 'a.png' })).to.throw(
      'must be the http or https address of a file',
    )
    const location = sendable([{ type: 'HEADER', format: 'LOCATION' }, BODY])
    const params = { 'header.latitude': '91', 'header.longitude': '0', 'header.name': 'a', 'header.address': 'b' }
    expect(() => fillTemplate(location, params)).to.throw('must be a number between -90 and 90')
    const button = sendable([
      BODY,
      { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Open', url: 'https://example.com/{{1}}' }] },
    ])
    expect(() => fillTemplate(button, { 'button.0': 'a b' })).to.throw('without spaces')
  })

  it('cannot send a template with components of an unknown kind', () => {
    const template = { id: 't', channelId: 'c', name: 'n', language: 'en', category: 'utility' as const }
    expect(toSendableTemplate({ ...template, components: [BODY, { type: 'CAROUSEL', cards: [] }] })).to.equal(undefined)
  })
})
