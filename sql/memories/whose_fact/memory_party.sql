-- Whom do "I", "my" and "we" mean in what somebody said? The speaker. One that is nobody in particular (user, or none)
-- stands for the agent that wrote it: each agent hears one such party, unless it says for which user it speaks. Pure,
-- inlines.
create or replace function loci_internal.memory_party(p_source text, p_agent uuid) returns text
language sql immutable parallel safe
return case when loci_internal.is_nobody(p_source) then 'agent ' || coalesce(p_agent::text, '')
            else 'name ' || loci.canonical_name(p_source) end;
comment on function loci_internal.memory_party(text, uuid) is
    'Party that the first person of a memory means: its speaker, or the agent that wrote it.';

-- Is a speaker nobody in particular? Pure, inlines.
create or replace function loci_internal.is_nobody(p_source text) returns boolean
language sql immutable parallel safe
return p_source is null or lower(p_source) = 'user';
comment on function loci_internal.is_nobody(text) is
    'Whether a speaker is nobody in particular.';

-- The user for whom the caller speaks or asks: the one that the call names, else the one that its key is bound to;
-- null: nobody in particular. A key that is bound to a user speaks for no other. Reads loci.user, which
-- loci_api.begin_request sets. Errors: 42501.
create or replace function loci_internal.speaking_user(p_user text) returns text
language plpgsql stable
as $$
declare
    v_bound constant text := nullif(current_setting('loci.user', true), '');
begin
    if v_bound is not null and p_user is not null and loci.canonical_name(p_user) <> loci.canonical_name(v_bound) then
        raise insufficient_privilege using column = 'user',
            message = format('this key is bound to user %s and cannot speak for %s', v_bound, p_user),
            hint = 'Leave `user` out, or use a key without a user.';
    end if;
    return coalesce(v_bound, p_user);
end $$;
comment on function loci_internal.speaking_user(text) is
    'The user for whom the caller speaks: as named, else as its key is bound. Errors: 42501.';

-- Speaker of a memory: as stated, but for nobody in particular the user for whom the caller speaks, if there is one.
-- Errors: 42501.
create or replace function loci_internal.speaker_of(p_source text, p_user text) returns text
language sql stable
as $$
    select case when loci_internal.is_nobody(p_source)
                     and (p_user is not null or coalesce(current_setting('loci.user', true), '') <> '')
                then loci_internal.speaking_user(p_user) else p_source end
$$;
comment on function loci_internal.speaker_of(text, text) is
    'Speaker of a memory, for a source and the user of a call.';

-- Items of a write with who said each (speaker_of). Errors: 42501.
create or replace function loci_internal.name_speakers(p_items jsonb) returns jsonb
language sql stable
as $$
    select jsonb_agg(case when s.speaker is null then i.item - 'user'
                          else i.item - 'user' || jsonb_build_object('source', s.speaker) end order by i.nth)
    from jsonb_array_elements(p_items) with ordinality i(item, nth)
    cross join lateral (select loci_internal.speaker_of(i.item ->> 'source', i.item ->> 'user') as speaker) s
$$;
comment on function loci_internal.name_speakers(jsonb) is
    'Items of a write, each with who said it. Errors: 42501.';

-- The party that asks: see memory_party. Errors: 42501.
create or replace function loci_internal.asking_party(p_user text) returns text
language sql stable
as $$
    select loci_internal.memory_party(loci_internal.speaking_user(p_user), loci.current_agent())
$$;
comment on function loci_internal.asking_party(text) is
    'Party that the first person of a question means. Errors: 42501.';

-- Key that memories of the same words share when they are one: their subject, where the words do not name it; and the
-- party of a first person. Empty where the words say it all. Pure.
create or replace function loci_internal.wording_scope(p_content text, p_about text, p_source text, p_agent uuid)
returns text
language sql immutable parallel safe
return ltrim(case when loci_internal.text_with_subject(p_content, p_about) <> p_content
                  then 'about ' || loci.canonical_name(p_about) else '' end
             || case when loci.is_first_person(p_content)
                     then ' by ' || loci_internal.memory_party(p_source, p_agent) else '' end);
comment on function loci_internal.wording_scope(text, text, text, uuid) is
    'Key that memories of the same words share when they are one memory; empty: nothing.';

-- May two categories speak of the same: does one stand in the other? What has none (general) stands above all. Pure,
-- inlines.
create or replace function loci_internal.categories_meet(p_one text, p_other text) returns boolean
language sql immutable parallel safe
return coalesce(p_one, 'general') = 'general' or coalesce(p_other, 'general') = 'general'
       or loci_internal.path_is_within(p_one, p_other) or loci_internal.path_is_within(p_other, p_one);
comment on function loci_internal.categories_meet(text, text) is
    'Whether one of two categories stands in the other.';
