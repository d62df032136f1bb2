-- The words of a fact in order, as far as another may not say the same without them: not is, does, our, really, now.
-- A possession is one's own (I have a beagle, my beagle), a person who is called something is named so, and the two
-- sides of an `and` stand in one order. Pure.
create or replace function loci_internal.words_that_matter(p_read loci_api.fact_reading) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_idle  constant text[]
        := '{is,are,am,be,been,do,doe,has,have,that,this,our,your,it,there,realli,veri,still,alreadi,actual,simpli,'
           'just,certain,definit,truli,pleas,to_correct,may_correct,now,current,nowaday,present,these_day,at_present,'
           'at_the_moment,right_now,as_of_now}';
    v_words text[];
begin
    v_words := array(
        select case when w.stem = 'i' and lead(w.stem) over (order by w.place) = 'have' then 'my'
                    when w.stem = 'call' and p_read.spoken[w.place] = 'called' then 'name' else w.stem end
        from unnest(p_read.gist) with ordinality w(stem, place) order by w.place);
    v_words := array(select w.stem from unnest(v_words) with ordinality w(stem, place)
                     where w.stem <> all (v_idle) order by w.place);
    for v_and in 2 .. cardinality(v_words) - 1 loop
        if v_words[v_and] in ('and', 'or', 'und', 'oder') and v_words[v_and - 1] > v_words[v_and + 1] then
            v_words := v_words[:v_and - 2] || v_words[v_and + 1] || v_words[v_and] || v_words[v_and - 1]
                       || v_words[v_and + 2:];
        end if;
    end loop;
    return v_words;
end $$;
comment on function loci_internal.words_that_matter(loci_api.fact_reading) is
    'Words of a fact without which another does not say the same.';

-- Is one list of words another, turned: its second part first? Pure.
create or replace function loci_internal.is_turned(p_one text[], p_other text[]) returns boolean
language sql immutable parallel safe
as $$
    select coalesce(bool_or(p_other[g.cut + 1:] || p_other[:g.cut] = p_one), false)
    from generate_series(1, cardinality(p_other) - 1) g(cut)
$$;
comment on function loci_internal.is_turned(text[], text[]) is 'Whether one list of words is another, turned.';
