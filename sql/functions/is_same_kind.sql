-- Are the values by which two facts conflict of one kind, so that the later replaces the earlier? Both begin with a name, or neither does (based in
-- Madrid, based in the finance department); the verb has the same preposition (works at Acme, works for Carol); both are of the same time
-- (today, tomorrow); and what both add after a further preposition is the same (reports to Bob on hardware, to Dan on software). Facts under one aspect
-- need none of that; here nothing says that two facts are about one thing. Pure. Called by compare_facts; internal.
create or replace function loci.is_same_kind(p_older loci.fact_reading, p_newer loci.fact_reading) returns boolean
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_times  constant text[] := '{today,tomorrow,yesterday,tonight,morn,afternoon,even,night,noon,week,weekend,next,last,first,second,third}';
    v_places constant text[] := '{in,on,at,for,with,as,to,from,by,dure,befor,after,until,when,if}';
    v_old    text[] := p_older.gist[array_position(p_older.gist, (p_older.said).value[1]) + 1:];
    v_new    text[] := p_newer.gist[array_position(p_newer.gist, (p_newer.said).value[1]) + 1:];
    v_old_at integer := (select min(n) from unnest(v_old) with ordinality u(w, n) where w = any (v_places));
    v_new_at integer := (select min(n) from unnest(v_new) with ordinality u(w, n) where w = any (v_places));
begin
    return array(select w from unnest(p_older.gist) w where w = any (v_times) order by 1) = array(select w from unnest(p_newer.gist) w where w = any (v_times) order by 1)
        and ((p_older.said).kind <> 'word' or ((p_older.said).value[1] = any (p_older.names)) = ((p_newer.said).value[1] = any (p_newer.names)))
        and ((p_older.said).relation <> 'fn'
             or array_position(v_places, p_older.gist[array_position(p_older.gist, (p_older.said).predicate) + 1])
                is not distinct from array_position(v_places, p_newer.gist[array_position(p_newer.gist, (p_newer.said).predicate) + 1]))
        and (v_old_at is null or v_new_at is null or v_old[v_old_at:] = v_new[v_new_at:]);
end $$;
comment on function loci.is_same_kind(loci.fact_reading, loci.fact_reading) is 'Whether two values that conflict are of one kind. Internal.';
