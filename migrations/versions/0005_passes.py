"""What passes have read: of each turn by which of them, and how often an answer failed for a turn or an episode.

Revision ID: 0005
Revises: 0004
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# Jobs that have not ended yet noted what they have read; with them, the passes that are done have read it.
UPGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.conversation_turns add column read_by text[] not null default '{}';
alter table loci_data.conversation_turns add column failed_reads smallint not null default 0;
comment on column loci_data.conversation_turns.logged is
    'Whether the turn is in the log: some pass that learns from turns and is switched on has still to read it.';
comment on column loci_data.conversation_turns.read_by is 'The passes that have read it.';
comment on column loci_data.conversation_turns.failed_reads is
    'How often an answer about it and others was none; the next one is asked about half as many.';
alter table loci_data.episodes_read alter column job_id drop not null;
alter table loci_data.episodes_read add column failed_reads smallint not null default 0;
drop index loci_data.episodes_read_job;
comment on table loci_data.episodes_read is
    'Memories of layer 3 that the extraction of entities has read, or for which its answer failed.';
comment on column loci_data.episodes_read.job_id is 'By which job; null: by none so far.';
comment on column loci_data.episodes_read.failed_reads is
    'How often an answer about it and others was none; the next one is asked about half as many.';
alter table loci_data.pass_runs add column turns bigint[] not null default '{}';
alter table loci_data.pass_runs add column more boolean not null default false;
comment on column loci_data.pass_runs.turns is 'Turns of conversation that it has read.';
comment on column loci_data.pass_runs.more is 'Whether the log held more turns than it was shown.';
delete from loci_data.episodes_read r using loci_data.jobs j
where j.namespace_id = r.namespace_id and j.id = r.job_id and j.state in ('cancelled', 'dead')
  and not exists (select from loci_data.pass_runs p where p.namespace_id = j.namespace_id and p.job_id = j.id
                  and p.pass = 'entities' and p.outcome <> 'failed');
update loci_data.pass_runs p set turns = j.turns_read
from loci_data.jobs j
where j.namespace_id = p.namespace_id and j.id = p.job_id and j.turns_read <> '{}'
  and p.pass in ('entities', 'preferences') and p.outcome <> 'failed';
update loci_data.conversation_turns t set read_by = r.passes
from (select p.namespace_id, u.id, array_agg(distinct p.pass order by p.pass) as passes
      from loci_data.pass_runs p
      join loci_data.jobs j on j.namespace_id = p.namespace_id and j.id = p.job_id and j.finished_at is null
      cross join lateral unnest(p.turns) u(id)
      where coalesce(j.arguments ->> 'dry_run', 'false') <> 'true'
      group by p.namespace_id, u.id) r
where t.namespace_id = r.namespace_id and t.id = r.id and t.logged;
alter table loci_data.namespaces add column accents_kept boolean not null default false;
comment on column loci_data.namespaces.accents_kept is
    'Whether its lexical index holds words with their accents, as it did before: questions then look for both.';
update loci_data.namespaces n set accents_kept = true
where exists (select from loci_data.memories m
              where m.namespace_id = n.id
                and octet_length(concat(m.content, m.source, m.about, m.category, array_to_string(m.tags, ' ')))
                    <> length(concat(m.content, m.source, m.about, m.category, array_to_string(m.tags, ' '))));
drop function if exists loci_internal.document_terms(regconfig, text);
drop trigger if exists jobs_turns_read on loci_data.jobs;
alter table loci_data.jobs drop column turns_read;
drop function if exists loci_api.turns_to_read(text, uuid);
drop function if exists loci_api.episodes_to_read(text, uuid, integer, integer);
drop function if exists loci_api.record_pass(text, uuid, text, jsonb);
drop function if exists loci_api.last_pass(text, text, uuid);
drop function if exists loci_internal.clear_turns(integer, bigint[]);
drop function if exists loci_api.apply_graph_cleanup(text, jsonb);
drop function if exists loci_api.preview_erasure(text, uuid[], text, boolean, integer);
drop function if exists loci_api.erase_memories(text, uuid[], text, boolean);
drop function if exists loci_internal.erase_idempotent_replies(integer, uuid[]);
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.namespaces drop column accents_kept;
alter table loci_data.jobs add column turns_read bigint[];
comment on column loci_data.jobs.turns_read is
    'Turns of the conversation log that it learns from; they leave the log when it succeeds or dies.';
alter table loci_data.pass_runs drop column more;
alter table loci_data.pass_runs drop column turns;
delete from loci_data.episodes_read where job_id is null;
alter table loci_data.episodes_read drop column failed_reads;
alter table loci_data.episodes_read alter column job_id set not null;
create index episodes_read_job on loci_data.episodes_read (namespace_id, job_id, memory_id);
alter table loci_data.conversation_turns drop column failed_reads;
alter table loci_data.conversation_turns drop column read_by;
reset role
"""


def upgrade() -> None:
    """Note for each turn which passes have read it, and no longer for each job which turns."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Note it for each job again; what a pass has read of the log, the passes read once more."""
    execute(op.get_bind(), DOWNGRADE)
