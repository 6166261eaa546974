import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { must, says, type Statement } from '../rule/index.ts'
import { filled, int64, list, map, matching, name, object, oneOf, optional, text } from './fields.ts'

/** The schema of a reference to a Secret, which is the same in all kinds (specification 2.1). */
export const secretRef = (description: string) =>
  object(
    { name: name('Name of the Secret, in the same namespace.'), key: name('Key within the Secret.') },
    description,
    {
      source: '2.1',
      statements: [
        must('2.1', 'These fields take the shape of a Secret reference, all with a required name and key.'),
        must('5.3', 'Values are never inlined; they are referenced through Secret references.'),
      ],
    },
  )

/** The schema of a reference to another resource by name; newer releases have additional fields. */
export const nameRef = (description: string, source: string, statements: readonly Statement[] = []) =>
  object({ name: name('Name of the resource, in the same namespace.') }, description, {
    source,
    open: true,
    statements: [
      must(
        '2',
        'A resource is referenced from its own namespace only: a reference is a name, without a namespace.',
      ),
      ...statements,
    ],
  })

/** The schema of a workload's `groupRef`: `{name}`, or a bare name, as in older releases (decision 5). */
const groupRef = Type.Unsafe<string | { name: string }>({
  description: 'The MCPGroup that this workload belongs to, in the same namespace.',
  type: ['string', 'object'],
  minLength: 1,
  properties: { name: name('Name of the MCPGroup.') },
  required: ['name'],
  decided: ['minLength'],
  open: true,
  source: '1',
  statements: [says('1', 'MCPServer belongs to a group through groupRef.')],
})

const condition = object(
  {
    type: matching('conditionType', 'What the condition is about.', {
      maxLength: 316,
      statements: [must('8', 'Condition type: maxLength 316.')],
    }),
    status: oneOf(['True', 'False', 'Unknown'], 'Whether the condition holds.', {
      statements: [must('3', 'A condition status is True, False or Unknown.')],
    }),
    reason: matching('reason', 'Why, as one CamelCase word.', {
      minLength: 1,
      maxLength: 1024,
      statements: [must('8', 'Condition reason: 1 to 1024 characters.')],
    }),
    message: text('Why, in a sentence; may be empty.', {
      maxLength: 32768,
      statements: [says('2.4.7', 'message may be empty.'), must('8', 'Condition message: maxLength 32768.')],
    }),
    lastTransitionTime: text('When the status last changed (RFC 3339).', {
      format: 'date-time',
      statements: [
        must('2.4.7', 'lastTransitionTime is a date-time.'),
        must('3', 'Each condition records the time of its last change.'),
      ],
    }),
    observedGeneration: optional(int64('The generation that the condition was based on.', { minimum: 0 })),
  },
  'One observation of the resource.',
  { source: '2.4.7' },
)

export const conditions = list(condition, 'Latest observations of the resource.')

const metadata = object(
  {
    name: optional(text('Name of the resource.')),
    generateName: optional(text('Prefix of a generated name.')),
    namespace: optional(text('Namespace of the resource.')),
    labels: optional(map(Type.String(), 'Labels.')),
    annotations: optional(map(Type.String(), 'Annotations.')),
  },
  'Standard object metadata.',
  { open: true },
)

/** The schema of a complete resource: these fields, and apiVersion, kind and metadata. */
export const resource = <P extends TProperties>(
  kind: string,
  fields: P,
  description: string,
): TObject<P & Envelope> => Type.Object({ ...envelope, ...fields }, { title: kind, description })

const envelope = {
  apiVersion: optional(text('API group and version of this resource.')),
  kind: optional(text('Kind of this resource.')),
  metadata: optional(metadata),
}
type Envelope = typeof envelope

/** The schema of a status whose fields the specification does not list completely. */
export const openStatus = (fields: Record<string, TSchema> = {}) =>
  object(fields, 'What the operator observed.', { open: true })

export const workloadReference = object(
  {
    kind: oneOf(['MCPServer', 'VirtualMCPServer', 'MCPRemoteProxy'], 'Kind of the workload.'),
    name: filled('Name of the workload.'),
  },
  'A workload that refers to this configuration.',
  {
    source: '2.4.7',
    statements: [must('2.4.7', 'referencingWorkloads: kind is one of three, name is not empty.')],
  },
)

/**
 * The schema of MCPServer, MCPRemoteProxy or MCPServerEntry. The specification has only two fields of their spec;
 * `others` are fields of releases about authentication.
 */
export const workload = <P extends TProperties>(kind: string, others: P, description: string) =>
  resource(
    kind,
    {
      spec: object(
        {
          groupRef: optional(groupRef),
          externalAuthConfigRef: optional(
            nameRef('The MCPExternalAuthConfig that says how to authenticate to the backend.', '1', [
              says('1', 'MCPServer, MCPRemoteProxy and MCPServerEntry refer to an MCPExternalAuthConfig.'),
            ]),
          ),
          ...others,
        },
        'Settings of the workload.',
        { source: '1', open: true },
      ),
      status: optional(openStatus()),
    },
    description,
  )
