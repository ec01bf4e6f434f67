import type { ReactNode } from 'react'
import { Copy } from '../kit/copy.tsx'
import { Time } from '../kit/time.tsx'
import { type Contact, TagList } from './contact-words.tsx'

const SOURCES: Readonly<Record<Contact['source'], string>> = {
  api: 'created by a program',
  import: 'imported',
  inbound: 'wrote first',
  manual: 'created by a member',
  workflow: 'created by a workflow',
}

export function ContactFacts({ contact }: { contact: Contact }) {
  const fields = Object.entries(contact.fields)
  return (
    <section className="card" aria-label="Facts">
      <div className="card-head">
        <h2>Facts</h2>
        <span className="spread">
          <Copy text={contact.id} label="contact ID" />
        </span>
      </div>
      <dl className="facts contact-facts">
        <Fact name="Phone">
          {contact.phone && <Copy text={contact.phone} label="phone number" shown={contact.phone} />}
        </Fact>
        <Fact name="Email">{contact.email && <Copy text={contact.email} label="email" shown={contact.email} />}</Fact>
        {contact.username && <Fact name="Username">{contact.username}</Fact>}
        <Fact name="Language">{contact.language}</Fact>
        {contact.country && <Fact name="Country">{contact.country}</Fact>}
        {contact.timezone && <Fact name="Time zone">{contact.timezone}</Fact>}
        {contact.externalId && (
          <Fact name="External ID">
            <Copy text={contact.externalId} label="external ID" shown={contact.externalId} />
          </Fact>
        )}
        <Fact name="Tags">
          <TagList tags={contact.tags} />
        </Fact>
        <Fact name="Last written">
          <Time at={contact.lastInboundAt} />
        </Fact>
        <Fact name="Last sent">
          <Time at={contact.lastOutboundAt} />
        </Fact>
        <Fact name="Since">
          <Time at={contact.createdAt} />, {SOURCES[contact.source]}
        </Fact>
      </dl>
      {fields.length > 0 && (
        <>
          <h3 className="card-part">Custom fields</h3>
          <dl className="facts contact-facts">
            {fields.map(([name, value]) => (
              <Fact key={name} name={name}>
                {typeof value === 'string' ? value : <code>{JSON.stringify(value)}</code>}
              </Fact>
            ))}
          </dl>
        </>
      )}
    </section>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children || <span className="muted">not known</span>}</dd>
    </>
  )
}
